#include "fem/mesh/nodes.hpp"

#include "fem/mesh/communicator.hpp"

#include <p8est_ghost.h>
#include <p8est_lnodes.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <string>

namespace haloscope::fem {

namespace {

struct DestroyGhost {
  void operator()(p8est_ghost_t *ghost) const noexcept { p8est_ghost_destroy(ghost); }
};
struct DestroyForest {
  void operator()(p8est_t *forest) const noexcept { p8est_destroy(forest); }
};
struct DestroyNodes {
  void operator()(p8est_lnodes_t *nodes) const noexcept { p8est_lnodes_destroy(nodes); }
};
using Numbering = std::unique_ptr<p8est_lnodes_t, DestroyNodes>;

constexpr int highest_degree = 8;
constexpr int most_points = 16; // that an element of p8est_lnodes is divided into here

// Returns whether balancing would change nothing. (p8est_is_balanced takes minutes for a million elements.)
bool balanced(const Forest &forest) {
  if (forest.balanced()) return true;
  const std::unique_ptr<p8est_t, DestroyForest> copy(p8est_copy(forest.get(), 0));
  p8est_balance(copy.get(), P8EST_CONNECT_FULL, nullptr);
  return copy->global_num_quadrants == forest.all_elements();
}

Numbering number(const Forest &forest, int degree) {
  if (!balanced(forest))
    throw Error("neighbouring elements of the forest differ by more than one level: call balance() first");
  const std::unique_ptr<p8est_ghost_t, DestroyGhost> ghost(p8est_ghost_new(forest.get(), P8EST_CONNECT_FULL));
  return Numbering(p8est_lnodes_new(forest.get(), ghost.get(), degree));
}

// p8est keeps the nodes that two ranks share in one list. Those that one of them owns are in one piece of it,
// in the order of the owner's local numbers; the other rank has its ghosts in the same order.
Links::Neighbour with(const p8est_lnodes_rank_t &shared) {
  Links::Neighbour neighbour{shared.rank, {}, {}};
  const auto *nodes = reinterpret_cast<const p4est_locidx_t *>(shared.shared_nodes.array);
  nodes += shared.shared_mine_offset;
  neighbour.send.assign(nodes, nodes + shared.shared_mine_count);
  for (p4est_locidx_t i = 0; i < shared.owned_count; i++)
    neighbour.receive.push_back(shared.owned_offset + i);
  return neighbour;
}

// The nodes of the 8^levels small elements in each of p8est's, whose lattice is theirs.
std::vector<std::int32_t> divided(const p8est_lnodes_t &nodes, int levels, int degree) {
  const int width = (degree << levels) + 1;
  std::vector<std::int32_t> places; // in one of p8est's elements
  for (unsigned child = 0; child < 1U << (3 * levels); child++) {
    std::array<int, 3> start{}; // children are in Morton order
    for (unsigned bit = 0; bit < 3 * static_cast<unsigned>(levels); bit++)
      start.at(bit % 3) += static_cast<int>(child >> bit & 1U) * (degree << (bit / 3));
    for (int z = 0; z <= degree; z++)
      for (int y = 0; y <= degree; y++)
        for (int x = 0; x <= degree; x++)
          places.push_back(((start[2] + z) * width + start[1] + y) * width + start[0] + x);
  }
  std::vector<std::int32_t> all;
  all.reserve(static_cast<std::size_t>(nodes.num_local_elements) * places.size());
  for (p4est_locidx_t element = 0; element < nodes.num_local_elements; element++) {
    const p4est_locidx_t *own = nodes.element_nodes + static_cast<std::ptrdiff_t>(element) * nodes.vnodes;
    for (const std::int32_t place : places) all.push_back(own[place]);
  }
  return all;
}

bool permutation(std::span<const std::int32_t> numbers, std::size_t count) {
  if (numbers.size() != count) return false;
  std::vector<bool> seen(count);
  for (const std::int32_t number : numbers) {
    if (number < 0 || static_cast<std::size_t>(number) >= count || seen[static_cast<std::size_t>(number)])
      return false;
    seen[static_cast<std::size_t>(number)] = true;
  }
  return true;
}

} // namespace

Nodes::Nodes(const Forest &forest, int degree) : degree_(degree), communicator_(forest.communicator()) {
  if (degree < 1 || degree > highest_degree)
    throw Error("degree " + std::to_string(degree) + " of finite elements is not in 1…8");
  // The more elements, the longer p8est's numbering takes, and one element of twice the degree has the nodes
  // of eight. So in place of a uniform mesh a much coarser one is numbered.
  const int levels =
      forest.uniform_levels(static_cast<int>(std::bit_width(unsigned(most_points / degree))) - 1);
  const Numbering nodes =
      levels == 0 ? number(forest, degree) : number(forest.without_levels(levels), degree << levels);
  owned_ = static_cast<std::size_t>(nodes->owned_count);
  first_ = nodes->global_offset;
  int ranks = 0;
  MPI_Comm_size(communicator_, &ranks);
  for (int rank = 0; rank < ranks; rank++) all_ += nodes->global_owned_count[rank];
  ghosts_.assign(nodes->nonlocal_nodes,
                 nodes->nonlocal_nodes + (nodes->num_local_nodes - nodes->owned_count));
  const std::size_t elements = forest.elements();
  if (levels == 0) {
    element_nodes_.assign(nodes->element_nodes, nodes->element_nodes + elements * per_element());
    faces_.assign(nodes->face_code, nodes->face_code + elements);
  } else {
    element_nodes_ = divided(*nodes, levels, degree);
    faces_.assign(elements, 0);
  }
  for (std::size_t i = 0; i < nodes->sharers->elem_count; i++) {
    const p8est_lnodes_rank_t &shared = *p8est_lnodes_rank_array_index(nodes->sharers, i);
    if (shared.rank != forest.get()->mpirank && shared.shared_mine_count + shared.owned_count > 0)
      links_.neighbours.push_back(with(shared));
  }
  if (!forest.cubes()) check(forest);
}

std::size_t Nodes::per_element() const noexcept {
  const auto n = static_cast<std::size_t>(degree_) + 1;
  return n * n * n;
}

std::int64_t Nodes::global(std::int32_t node) const noexcept {
  const auto local = static_cast<std::size_t>(node);
  return local < owned_ ? first_ + node : ghosts_[local - owned_];
}

std::vector<char> Nodes::mirror() const {
  std::vector<char> shared(local(), 0);
  std::fill(shared.begin() + static_cast<std::ptrdiff_t>(owned_), shared.end(), 1);
  for (const Links::Neighbour &neighbour : links_.neighbours)
    for (const std::int32_t node : neighbour.send) shared[static_cast<std::size_t>(node)] = 1;
  std::vector<char> mirror(faces_.size(), 0);
  for (std::size_t element = 0; element < mirror.size(); element++) {
    const auto nodes = element_nodes().subspan(element * per_element(), per_element());
    mirror[element] = static_cast<char>(std::ranges::any_of(
        nodes, [&](std::int32_t node) { return shared[static_cast<std::size_t>(node)] != 0; }));
  }
  return mirror;
}

void Nodes::renumber(std::span<const std::int32_t> new_of_old) {
  agree(communicator_,
        permutation(new_of_old, owned_) ? "" : "renumbering needs a permutation of the owned nodes");
  const auto renamed = [&](std::int32_t node) {
    return static_cast<std::size_t>(node) < owned_ ? new_of_old[static_cast<std::size_t>(node)] : node;
  };
  for (std::int32_t &node : element_nodes_) node = renamed(node);
  std::vector<std::vector<std::int64_t>> sent;
  std::vector<MPI_Request> requests;
  constexpr int tag = 0;
  std::vector<std::int64_t> received(ghosts_.size());
  std::int64_t *place = received.data();
  for (Links::Neighbour &neighbour : links_.neighbours) {
    auto &numbers = sent.emplace_back();
    for (std::int32_t &node : neighbour.send) numbers.push_back(first_ + (node = renamed(node)));
    MPI_Isend(numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T, neighbour.rank, tag,
              communicator_, &requests.emplace_back());
    const auto count = static_cast<int>(neighbour.receive.size());
    MPI_Irecv(place, count, MPI_INT64_T, neighbour.rank, tag, communicator_, &requests.emplace_back());
    place += count;
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  place = received.data();
  for (const Links::Neighbour &neighbour : links_.neighbours)
    for (const std::int32_t node : neighbour.receive)
      ghosts_[static_cast<std::size_t>(node) - owned_] = *place++;
}

} // namespace haloscope::fem
