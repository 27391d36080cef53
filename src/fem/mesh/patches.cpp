#include "fem/mesh/patches.hpp"

#include "fem/kernels/basis.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace haloscope::fem {

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
