#include "fem/mesh/patches.hpp"

#include "fem/kernels/basis.hpp"
#include "fem/mesh/communicator.hpp"
#include "fem/mesh/hanging.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

namespace {

using Lanes = double __attribute__((vector_size(64), aligned(8), may_alias));

// Changes the length of one direction of a lattice [before][From][after] into To points.
template <std::ptrdiff_t From, std::ptrdiff_t To>
void sweep(const double *matrix, const double *from, double *to, std::ptrdiff_t before,
           std::ptrdiff_t after) {
  const auto *in = reinterpret_cast<const Lanes *>(from);
  auto *out = reinterpret_cast<Lanes *>(to);
  for (std::ptrdiff_t b = 0; b < before; b++, in += From * after, out += To * after)
    for (std::ptrdiff_t a = 0; a < after; a++)
      for (std::ptrdiff_t t = 0; t < To; t++) {
        Lanes sum = matrix[t * From] * in[a];
        for (std::ptrdiff_t f = 1; f < From; f++) sum += matrix[t * From + f] * in[f * after + a];
        out[t * after + a] = sum;
      }
}

// From k + 1 points a direction to 2k + 1 (two elements of the same degree, or one of degree 2k), or one
// fewer (an element of degree 2k - 1). `fine` is large enough for what lies between the sweeps, `scratch`
// too.
template <int K, int Fewer>
void expand(const double *matrix, const double *coarse, double *fine, double *scratch) {
  constexpr std::ptrdiff_t n = K + 1, m = 2 * K + 1 - Fewer;
  sweep<n, m>(matrix, coarse, fine, n * n, 1);
  sweep<n, m>(matrix, fine, scratch, n, m);
  sweep<n, m>(matrix, scratch, fine, 1, m * m);
}

template <int K, int Fewer> void reduce(const double *matrix, double *coarse, double *fine, double *scratch) {
  constexpr std::ptrdiff_t n = K + 1, m = 2 * K + 1 - Fewer;
  sweep<m, n>(matrix, fine, scratch, 1, m * m);
  sweep<m, n>(matrix, scratch, fine, n, m);
  sweep<m, n>(matrix, fine, coarse, n * n, 1);
}

struct Kernels {
  void (*expand)(const double *matrix, const double *coarse, double *fine, double *scratch);
  void (*reduce)(const double *matrix, double *coarse, double *fine, double *scratch);
};

template <int Fewer, int... K> constexpr auto kernels(std::integer_sequence<int, K...>) {
  return std::array{Kernels{expand<K + 1, Fewer>, reduce<K + 1, Fewer>}...};
}

const Kernels &kernels_of(int degree, std::size_t points) {
  static constexpr auto even = kernels<0>(std::make_integer_sequence<int, 8>());
  static constexpr auto odd = kernels<1>(std::make_integer_sequence<int, 4>());
  const auto k = static_cast<std::size_t>(degree);
  return points == 2 * k + 1 ? even.at(k - 1) : odd.at(k - 1);
}

std::size_t cube(std::size_t n) { return n * n * n; }

} // namespace

Patches::Patches(int coarse, int fine)
    : degree_(coarse), raises_degree_(fine != coarse),
      points_(static_cast<std::size_t>(raises_degree_ ? fine : 2 * coarse) + 1),
      per_element_(cube(static_cast<std::size_t>(coarse) + 1)), constraint_(coarse) {
  const auto n = static_cast<std::size_t>(coarse) + 1;
  const std::vector<double> nodes = lobatto_points(coarse);
  std::vector<double> points = lobatto_points(fine);
  if (!raises_degree_) { // those of both halves; the middle is in both
    const std::vector<double> whole = points;
    for (double &point : points) point /= 2;
    for (std::size_t i = 1; i < n; i++) points.push_back((1 + whole[i]) / 2);
  }
  expand_.resize(points_ * n), reduce_.resize(points_ * n);
  for (std::size_t t = 0; t < points_; t++) {
    const std::vector<double> row = lagrange(nodes, points[t]);
    for (std::size_t f = 0; f < n; f++) expand_[t * n + f] = reduce_[f * points_ + t] = row[f];
  }
  coarse_.resize(per_element_ * lanes);
  fine_.resize(cube(points_) * lanes);
  scratch_.resize(fine_.size());
}

// Eight of a kind at a time.
void Patches::add(const std::vector<Patch> &patches) {
  for (const bool refined : {true, false}) {
    std::vector<const Patch *> waiting;
    for (const Patch &patch : patches) {
      if (patch.refined != refined) continue;
      waiting.push_back(&patch);
      if (waiting.size() < lanes) continue;
      add_batch(waiting);
      waiting.clear();
    }
    if (!waiting.empty()) add_batch(waiting);
  }
}

// Lanes without a patch read the first one's nodes and have no targets.
void Patches::add_batch(std::span<const Patch *const> patches) {
  Batch batch{patches.front()->refined, {}, nodes_.size(), slots_.size(), 0};
  for (std::size_t i = 0; i < per_element_; i++)
    for (std::size_t lane = 0; lane < lanes; lane++)
      nodes_.push_back(patches[lane < patches.size() ? lane : 0]->nodes[i]);
  for (std::size_t lane = 0; lane < patches.size(); lane++) {
    batch.codes.at(lane) = patches[lane]->code;
    for (const Target &target : patches[lane]->targets) {
      slots_.push_back(static_cast<std::uint16_t>(target.place * lanes + lane));
      targets_.push_back(target.node);
    }
  }
  batch.end = slots_.size();
  batches_.push_back(batch);
}

void Patches::constrain(const Batch &batch, bool transposed) {
  std::vector<double> &one = scratch_; // one lane
  for (std::size_t lane = 0; lane < lanes; lane++) {
    const std::uint16_t code = batch.codes.at(lane);
    if (code == 0) continue;
    for (std::size_t i = 0; i < per_element_; i++) one[i] = coarse_[i * lanes + lane];
    const std::span<double> values(one.data(), per_element_);
    if (transposed)
      constraint_.transpose(code, values);
    else
      constraint_.apply(code, values);
    for (std::size_t i = 0; i < per_element_; i++) coarse_[i * lanes + lane] = one[i];
  }
}

void Patches::interpolate(const double *coarse, const Fine &fine) {
  const auto kernel = kernels_of(degree_, points_).expand;
  for (const Batch &batch : batches_) {
    const std::int32_t *nodes = nodes_.data() + batch.nodes;
    for (std::size_t i = 0; i < coarse_.size(); i++) coarse_[i] = coarse[nodes[i]];
    constrain(batch, false);
    if (expands(batch)) kernel(expand_.data(), coarse_.data(), fine_.data(), scratch_.data());
    const std::vector<double> &values = expands(batch) ? fine_ : coarse_;
    for (std::size_t i = batch.first; i < batch.end; i++) {
      const std::int32_t node = targets_[i];
      (node < fine.count ? fine.below[node] : fine.above[node - fine.count]) = values[slots_[i]];
    }
  }
}

void Patches::restrict(const ConstantFine &fine, double *coarse) {
  const auto kernel = kernels_of(degree_, points_).reduce;
  for (const Batch &batch : batches_) {
    std::vector<double> &values = expands(batch) ? fine_ : coarse_;
    std::ranges::fill(values, 0.0);
    for (std::size_t i = batch.first; i < batch.end; i++) {
      const std::int32_t node = targets_[i];
      values[slots_[i]] = node < fine.count ? fine.below[node] : fine.above[node - fine.count];
    }
    if (expands(batch)) kernel(reduce_.data(), coarse_.data(), fine_.data(), scratch_.data());
    constrain(batch, true);
    const std::int32_t *nodes = nodes_.data() + batch.nodes;
    for (std::size_t i = 0; i < coarse_.size(); i++) coarse[nodes[i]] += coarse_[i];
  }
}

} // namespace haloscope::fem
