#include "hide/place/placement.hpp"

#include "interpose/report.hpp"
#include "interpose/taking_part.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/utsname.h>
#include <vector>

namespace haloscope::place {

Placement placement;

namespace {

using Groups = std::vector<std::vector<int>>;

// "0-3,8 4-7,9" are the program's ranks on each node. Throws what makes no sense.
Groups parse(const std::string &text) {
  Groups groups;
  std::istringstream words{text};
  for (std::string word; words >> word;) {
    groups.emplace_back();
    std::istringstream ranges{word};
    for (std::string range; std::getline(ranges, range, ',');) {
      const std::size_t dash = range.find('-');
      const int first = std::stoi(range);
      const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
      for (int rank = first; rank <= last; rank++) groups.back().push_back(rank);
    }
  }
  std::vector<int> all;
  for (const auto &group : groups) all.insert(all.end(), group.begin(), group.end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); i++)
    if (all[i] != static_cast<int>(i)) throw std::invalid_argument("each rank must be listed once");
  return groups;
}

std::string shape(const Groups &groups) {
  std::map<std::size_t, int> counts;
  for (const auto &group : groups) counts[group.size()]++;
  std::string text;
  for (const auto &[ranks, nodes] : counts)
    text += (text.empty() ? "" : " and ") + std::to_string(nodes) +
            (nodes == 1 ? " node of " : " nodes of ") + std::to_string(ranks) +
            (ranks == 1 ? " rank" : " ranks");
  return text;
}

// The program's rank of each process; nothing if the nodes of this run are others. Nodes of one size are
// alike.
std::vector<int> program_ranks(const Groups &wanted, const Groups &there, std::size_t size) {
  std::vector<int> ranks(size);
  std::vector<bool> used(there.size());
  for (const auto &group : wanted) {
    std::size_t node = 0;
    while (node < there.size() && (used[node] || there[node].size() != group.size())) node++;
    if (node == there.size()) return {};
    used[node] = true;
    for (std::size_t i = 0; i < group.size(); i++) ranks[static_cast<std::size_t>(there[node][i])] = group[i];
  }
  return wanted.size() == there.size() ? ranks : std::vector<int>{};
}

int copy_nothing(MPI_Comm /*comm*/, int /*keyval*/, void * /*extra*/, void * /*in*/, void * /*out*/,
                 int *flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the oldest last. So the program's callbacks
// still find its world, and attributes of the world are deleted as MPI would do it.
int end_world(MPI_Comm /*comm*/, int /*keyval*/, void * /*value*/, void * /*extra*/) {
  real.Comm_free(&placement.placed);
  placement = {};
  return MPI_SUCCESS;
}

void make_world(int rank) {
  MPI_Comm placed = MPI_COMM_NULL;
  // Called through the next library, which may keep state for every communicator.
  if (next.Comm_split(MPI_COMM_WORLD, 0, rank, &placed) != MPI_SUCCESS) return;
  next.Comm_set_name(placed, "MPI_COMM_WORLD");
  int keyval = MPI_KEYVAL_INVALID;
  real.Comm_create_keyval(copy_nothing, end_world, &keyval, nullptr);
  real.Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  real.Comm_free_keyval(&keyval); // when the attribute has gone
  placement.world = MPI_COMM_WORLD;
  placement.placed = placed;
#if defined(HALOSCOPE_ABI_OPENMPI) || defined(HALOSCOPE_ABI_MPICH)
  placement.world_in_fortran = to_fortran(placement.world);
  placement.placed_in_fortran = to_fortran(placed);
#endif
}

// Returns for each rank of the world the number of its node; nodes are counted by their first rank.
std::vector<int> nodes_of(MPI_Comm comm) {
  int size = 0;
  real.Comm_size(comm, &size);
  utsname system{};
  uname(&system);
  std::uint64_t own = std::hash<std::string>{}(system.nodename);
  std::vector<std::uint64_t> names(static_cast<std::size_t>(size));
  real.Allgather(&own, sizeof own, MPI_BYTE, names.data(), sizeof own, MPI_BYTE, comm);
  std::map<std::uint64_t, int> numbers;
  std::vector<int> nodes;
  nodes.reserve(names.size());
  for (const std::uint64_t name : names)
    nodes.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  return nodes;
}

// Returns the ranks of each node, rising.
Groups by_node(const std::vector<int> &nodes) {
  Groups groups;
  for (std::size_t rank = 0; rank < nodes.size(); rank++) {
    const auto node = static_cast<std::size_t>(nodes[rank]);
    if (node >= groups.size()) groups.resize(node + 1);
    groups[node].push_back(static_cast<int>(rank));
  }
  return groups;
}

} // namespace

void begin_world() noexcept try {
  const char *text = std::getenv("HALOSCOPE_PLACE"); // NOLINT(concurrency-mt-unsafe): inside MPI_Init
  MPI_Comm parent = MPI_COMM_NULL;
  real.Comm_get_parent(&parent);
  // The mapping is for the launched program, not for programs that it spawns.
  if (text == nullptr || *text == '\0' || parent != MPI_COMM_NULL || placement.world != MPI_Comm{}) return;
  int rank = 0;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  const Groups wanted = parse(text);
  if (!interpose::do_all_ranks_take_part(interpose::Part::place, "ranks are not moved")) return;
  const std::vector<int> nodes = nodes_of(MPI_COMM_WORLD);
  const Groups there = by_node(nodes);
  const std::vector<int> ranks = program_ranks(wanted, there, nodes.size());
  if (!ranks.empty())
    make_world(ranks[static_cast<std::size_t>(rank)]);
  else if (rank == 0)
    interpose::complain("the mapping is for " + shape(wanted) + ", this run has " + shape(there) +
                        "; ranks are not moved; use the launch command of the profile, or --hosts");
} catch (const std::exception &error) {
  interpose::complain(std::string{"HALOSCOPE_PLACE: "} + error.what() +
                      "; ranks are not moved; use haloscope place to set it");
}

} // namespace haloscope::place
