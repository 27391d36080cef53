#include "hide/fem/mesh/patches.hpp"

#include "hide/fem/mesh/interval.hpp"

#include <algorithm>
#include <utility>

namespace haloscope::fem {

namespace {

using Lanes = double __attribute__((vector_size(64), aligned(8), may_alias));

// One direction of a lattice [before][From][after] becomes To points long.
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

// `fine` is large enough for what lies between the sweeps, `scratch` too.
template <int K> void expand(const double *matrix, const double *coarse, double *fine, double *scratch) {
  constexpr std::ptrdiff_t n = K + 1, m = 2 * K + 1;
  sweep<n, m>(matrix, coarse, fine, n * n, 1);
  sweep<n, m>(matrix, fine, scratch, n, m);
  sweep<n, m>(matrix, scratch, fine, 1, m * m);
}

template <int K> void reduce(const double *matrix, double *coarse, double *fine, double *scratch) {
  constexpr std::ptrdiff_t n = K + 1, m = 2 * K + 1;
  sweep<m, n>(matrix, fine, scratch, 1, m * m);
  sweep<m, n>(matrix, scratch, fine, n, m);
  sweep<m, n>(matrix, fine, coarse, n * n, 1);
}

template <int... K> constexpr auto expansions(std::integer_sequence<int, K...>) {
  return std::array{expand<K + 1>...};
}
template <int... K> constexpr auto reductions(std::integer_sequence<int, K...>) {
  return std::array{reduce<K + 1>...};
}

constexpr auto expand_by_degree = expansions(std::make_integer_sequence<int, 8>());
constexpr auto reduce_by_degree = reductions(std::make_integer_sequence<int, 8>());

std::size_t cube(std::size_t n) { return n * n * n; }

} // namespace

Patches::Patches(int degree)
    : degree_(degree), per_element_(cube(static_cast<std::size_t>(degree) + 1)), constraint_(degree) {
  const auto n = static_cast<std::size_t>(degree) + 1, m = 2 * n - 1;
  expand_.resize(m * n), reduce_.resize(m * n);
  for (std::size_t t = 0; t < m; t++)
    for (std::size_t f = 0; f < n; f++) {
      const std::vector<double> &half = constraint_.half(t < n ? 0 : 1);
      expand_[t * n + f] = reduce_[f * m + t] = half[(t < n ? t : t - n + 1) * n + f];
    }
  coarse_.resize(per_element_ * lanes);
  fine_.resize(cube(m) * lanes);
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
  const auto kernel = expand_by_degree.at(static_cast<std::size_t>(degree_) - 1);
  for (const Batch &batch : batches_) {
    const std::int32_t *nodes = nodes_.data() + batch.nodes;
    for (std::size_t i = 0; i < coarse_.size(); i++) coarse_[i] = coarse[nodes[i]];
    constrain(batch, false);
    if (batch.refined) kernel(expand_.data(), coarse_.data(), fine_.data(), scratch_.data());
    const std::vector<double> &values = batch.refined ? fine_ : coarse_;
    for (std::size_t i = batch.first; i < batch.end; i++) {
      const std::int32_t node = targets_[i];
      (node < fine.count ? fine.below[node] : fine.above[node - fine.count]) = values[slots_[i]];
    }
  }
}

void Patches::restrict(const ConstantFine &fine, double *coarse) {
  const auto kernel = reduce_by_degree.at(static_cast<std::size_t>(degree_) - 1);
  for (const Batch &batch : batches_) {
    std::vector<double> &values = batch.refined ? fine_ : coarse_;
    std::ranges::fill(values, 0.0);
    for (std::size_t i = batch.first; i < batch.end; i++) {
      const std::int32_t node = targets_[i];
      values[slots_[i]] = node < fine.count ? fine.below[node] : fine.above[node - fine.count];
    }
    if (batch.refined) kernel(reduce_.data(), coarse_.data(), fine_.data(), scratch_.data());
    constrain(batch, true);
    const std::int32_t *nodes = nodes_.data() + batch.nodes;
    for (std::size_t i = 0; i < coarse_.size(); i++) coarse[nodes[i]] += coarse_[i];
  }
}

} // namespace haloscope::fem
