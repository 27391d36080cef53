// Which coarse element of which rank computes a fine node, and the patches that follow from it.
#include "fem/mesh/communicator.hpp"
#include "fem/mesh/hanging.hpp"
#include "fem/mesh/patches.hpp"

#include <array>

namespace haloscope::fem {

namespace {

// Calls visit(coarse element, refined, place in its lattice, fine node) wherever nothing hangs.
template <class Visit> void visit_nodes(const Level &fine, const Level &coarse, Visit visit) {
  const int degree = fine.nodes.degree();
  std::size_t element = 0; // of the fine level
  for (std::size_t i = 0; i < coarse.forest.elements(); i++) {
    const bool refined = fine.forest.leaves()[element].level > coarse.forest.leaves()[i].level;
    const int width = refined ? 2 * degree + 1 : degree + 1;
    for (unsigned child = 0; child < (refined ? 8U : 1U); child++, element++) {
      const std::uint16_t code = fine.nodes.faces()[element];
      const Hanging hanging(code);
      const std::int32_t *node = fine.nodes.element_nodes().data() + element * fine.nodes.per_element();
      std::array<int, 3> start{};
      for (unsigned d = 0; d < 3; d++) start.at(d) = (child >> d & 1U) != 0 ? degree : 0;
      for (int z = 0; z <= degree; z++)
        for (int y = 0; y <= degree; y++)
          for (int x = 0; x <= degree; x++, node++) {
            if (code != 0 && hanging.point({x, y, z}, degree)) continue;
            const int place = ((start[2] + z) * width + start[1] + y) * width + start[0] + x;
            visit(static_cast<std::int32_t>(i), refined, static_cast<std::uint16_t>(place), *node);
          }
    }
  }
}

using Flags = std::vector<std::vector<char>>; // by neighbour, of one of its lists

// Sends values of the nodes that the links call `receive` to the ranks for which they are `send`, or the
// other way.
Flags swap(const Nodes &nodes, const Flags &out, bool to_owners) {
  constexpr int tag = 1;
  std::vector<MPI_Request> requests;
  Flags in;
  for (const Links::Neighbour &with : nodes.links().neighbours)
    in.emplace_back(to_owners ? with.send.size() : with.receive.size());
  for (std::size_t i = 0; i < in.size(); i++) {
    const int rank = nodes.links().neighbours[i].rank;
    MPI_Irecv(in[i].data(), static_cast<int>(in[i].size()), MPI_CHAR, rank, tag, nodes.communicator(),
              &requests.emplace_back());
    MPI_Isend(out[i].data(), static_cast<int>(out[i].size()), MPI_CHAR, rank, tag, nodes.communicator(),
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return in;
}

Flags offers(const Nodes &nodes, const std::vector<std::int32_t> &of) {
  Flags offers;
  for (const Links::Neighbour &with : nodes.links().neighbours) {
    auto &flags = offers.emplace_back();
    for (const std::int32_t node : with.receive)
      flags.push_back(static_cast<char>(of[static_cast<std::size_t>(node)] >= 0));
  }
  return offers;
}

// Owners choose, for each node without an element, the first rank that offers one.
Flags choose(const Nodes &nodes, const std::vector<std::int32_t> &of, const Flags &offers) {
  std::vector<char> lacking(nodes.owned());
  for (std::size_t i = 0; i < lacking.size(); i++) lacking[i] = static_cast<char>(of[i] < 0);
  Flags chosen = offers;
  for (std::size_t i = 0; i < chosen.size(); i++)
    for (std::size_t j = 0; j < chosen[i].size(); j++) {
      char &lacks = lacking[static_cast<std::size_t>(nodes.links().neighbours[i].send[j])];
      chosen[i][j] = static_cast<char>(offers[i][j] != 0 && lacks != 0);
      if (chosen[i][j] != 0) lacks = 0;
    }
  return chosen;
}

// Whether each coarse leaf is one of the fine leaves, or eight of them.
bool is_nested(std::span<const Leaf> fine, std::span<const Leaf> coarse) {
  std::size_t next = 0;
  for (const Leaf &leaf : coarse) {
    if (next >= fine.size()) return false;
    const Leaf &first = fine[next];
    if (first.tree != leaf.tree || first.x != leaf.x || first.y != leaf.y || first.z != leaf.z) return false;
    if (first.level != leaf.level && first.level != leaf.level + 1) return false;
    next += first.level == leaf.level ? 1 : 8;
  }
  return next == fine.size();
}

void check(const Forest &fine, const Forest &coarse) {
  agree(fine.communicator(),
        is_nested(fine.leaves(), coarse.leaves())
            ? ""
            : "a transfer is between a forest and its coarsened(), and these are others");
}

} // namespace

Holders find_holders(const Level &fine, const Level &coarse) {
  Holders holders;
  check(fine.forest, coarse.forest);
  holders.of.assign(fine.nodes.local(), -1);
  visit_nodes(fine, coarse, [&](std::int32_t element, bool, std::uint16_t, std::int32_t node) {
    std::int32_t &holder = holders.of[static_cast<std::size_t>(node)];
    if (holder < 0) holder = element;
  });
  const Flags chosen = choose(fine.nodes, holders.of, swap(fine.nodes, offers(fine.nodes, holders.of), true));
  const Flags asked = swap(fine.nodes, chosen, false);
  for (std::size_t i = 0; i < asked.size(); i++) {
    const Links::Neighbour &with = fine.nodes.links().neighbours[i];
    Links::Neighbour &rescued = holders.rescued.neighbours.emplace_back();
    rescued.rank = with.rank;
    for (std::size_t j = 0; j < with.send.size(); j++)
      if (chosen[i][j] != 0) rescued.send.push_back(with.send[j]);
    for (std::size_t j = 0; j < with.receive.size(); j++) {
      if (asked[i][j] != 0)
        rescued.receive.push_back(with.receive[j]);
      else
        holders.of[static_cast<std::size_t>(with.receive[j])] = -1;
    }
  }
  return holders;
}

std::vector<Patch> patches(const Level &fine, const Level &coarse, const Holders &holders,
                           std::span<const std::uint8_t> fine_masked) {
  std::vector<std::int32_t> number(fine.nodes.local());
  for (std::size_t i = 0; i < fine.nodes.owned(); i++) number[i] = static_cast<std::int32_t>(i);
  auto next = static_cast<std::int32_t>(fine.nodes.owned());
  for (const Links::Neighbour &with : holders.rescued.neighbours)
    for (const std::int32_t node : with.receive) number[static_cast<std::size_t>(node)] = next++;

  std::vector<Patch> patches(coarse.forest.elements());
  for (std::size_t i = 0; i < patches.size(); i++)
    patches[i] = {
        false,
        coarse.nodes.faces()[i],
        coarse.nodes.element_nodes().subspan(i * coarse.nodes.per_element(), coarse.nodes.per_element()),
        {}};
  std::vector<bool> done(fine.nodes.local()); // neighbours in a family have the same place of the lattice
  visit_nodes(fine, coarse, [&](std::int32_t element, bool refined, std::uint16_t place, std::int32_t node) {
    const auto i = static_cast<std::size_t>(node);
    Patch &patch = patches[static_cast<std::size_t>(element)];
    patch.refined = refined;
    if (holders.of[i] != element || done[i]) return;
    done[i] = true;
    if (fine_masked.empty() || fine_masked[i] == 0) patch.targets.push_back({place, number[i]});
  });
  return patches;
}

} // namespace haloscope::fem
