// Expectation: forward and backward probabilities of the sequences of a group, one in each lane.
//
// Forward probabilities are scaled at each instant by a power of two. This rounds nothing, needs no division,
// and leaves only exponents to be summed. An instant's densities are relative to its largest. The backward
// probabilities take the same factors. So the product of both is the posterior at every instant, once it is
// so at the last.
#pragma once

#include "explain/wide.hpp"

namespace haloscope::explain::HALOSCOPE_SET {

// Below this, the forward probabilities have lost the small states.
constexpr double underflow_limit = 1e-250;

template <int STATES, template <int> class Density> class ForwardBackward {
public:
  HALOSCOPE_INLINE ForwardBackward(const Batch &of, const Group &of_group, Workspace space)
      : batch{of}, group{of_group}, lanes{of, of_group}, density{of, lanes},
        states{STATES ? STATES : of.states}, history{reinterpret_cast<Real *>(space.history)},
        checkpoints{reinterpret_cast<Real *>(space.checkpoints)} {
    for (int i = 0; i < states; ++i)
      for (int j = 0; j < states; ++j) transition[i][j] = batch.transition[i * states + j];
  }

  unsigned run(double *log_likelihood, Counts *counts, double *posterior) {
    const int64_t blocks = (lanes.longest + block_length - 1) / block_length;
    Real alpha[array_size] = {};
    for (int64_t block = 0; block < blocks; ++block) {
      for (int i = 0; i < states; ++i) checkpoints[block * states + i] = alpha[i];
      forward(block, alpha, true);
    }
    const unsigned lost = finish(alpha, log_likelihood);
    if (!counts && !posterior) return lost;
    Real beta[array_size] = {};
    for (int64_t block = blocks - 1; block >= 0; --block) {
      for (int i = 0; i < states; ++i) alpha[i] = checkpoints[block * states + i];
      if (block != blocks - 1) forward(block, alpha, false);
      backward(block, beta, posterior);
    }
    if (counts) add(*counts);
    return lost;
  }

private:
  static constexpr int array_size = STATES ? STATES : most_states;
  const Batch &batch;
  const Group &group;
  const Lanes lanes;
  const Density<STATES> density;
  const int states;
  Real *history, *checkpoints;
  double transition[array_size][array_size];
  Real base = {}, lowest = every(1.0), inverse = {};
  Bits exponents = {};
  Real starts[array_size] = {}, pairs[array_size][array_size] = {};
  Real weight[array_size] = {}, first[array_size] = {}, second[array_size] = {};

  HALOSCOPE_INLINE int n() const { return STATES ? STATES : states; }
  HALOSCOPE_INLINE int64_t end(int64_t block) const {
    return (block + 1) * block_length < lanes.longest ? (block + 1) * block_length : lanes.longest;
  }

  void forward(int64_t block, Real *alpha, bool summing) {
    Real *slot = history;
    for (int i = 0; i < n(); ++i) *slot++ = alpha[i];
    const int64_t begin = block * block_length, to = end(block);
    const int64_t even = to < lanes.shortest ? to : lanes.shortest > begin ? lanes.shortest : begin;
    summing ? span<false, true>(begin, even, alpha, slot) : span<false, false>(begin, even, alpha, slot);
    slot += (even - begin) * 2 * n();
    summing ? span<true, true>(even, to, alpha, slot) : span<true, false>(even, to, alpha, slot);
  }

  template <bool RAGGED, bool SUMMING> void span(int64_t from, int64_t to, Real *alpha, Real *slot) {
    Real a[array_size], base_now = base, lowest_now = lowest;
    Bits exponents_now = exponents;
    for (int i = 0; i < n(); ++i) a[i] = alpha[i];
    Real b[array_size];
    int64_t t = from;
    if (t == 0 && to > 0) {
      density.template at<RAGGED>(t, b);
      step<RAGGED, SUMMING, true>(t++, b, a, slot, base_now, lowest_now, exponents_now);
    }
    if constexpr (!RAGGED && requires { density.mean; }) {
      for (; t + lane_count <= to; t += lane_count) {
        Real x[lane_count];
        density.load_all(t, x);
        for (int i = 0; i < lane_count; ++i) {
          density.of(x[i], b);
          step<RAGGED, SUMMING, false>(t + i, b, a, slot, base_now, lowest_now, exponents_now);
        }
      }
    }
    for (; t < to; ++t) {
      density.template at<RAGGED>(t, b);
      step<RAGGED, SUMMING, false>(t, b, a, slot, base_now, lowest_now, exponents_now);
    }
    for (int i = 0; i < n(); ++i) alpha[i] = a[i];
    base = base_now, lowest = lowest_now, exponents = exponents_now;
  }

  // From log densities `b` of instant t; they become densities.
  template <bool RAGGED, bool SUMMING, bool FIRST>
  HALOSCOPE_INLINE void step(int64_t t, Real *b, Real *a, Real *&slot, Real &bases, Real &low,
                             Bits &sum_of_exponents) {
    Real next[array_size];
    Real top = b[0], sum = FIRST ? every(1.0) : a[0];
    for (int j = 1; j < n(); ++j) top = larger(top, b[j]);
    for (int j = 1; j < n(); ++j) sum = FIRST ? sum : sum + a[j];
    const Scale scaling = scale(sum);
    for (int j = 0; j < n(); ++j) {
      b[j] = exponential(b[j] - top) * scaling.factor;
      Real reached = FIRST ? every(batch.start[j]) : a[0] * transition[0][j];
      for (int i = 1; i < n(); ++i) reached = FIRST ? reached : reached + a[i] * transition[i][j];
      next[j] = reached * b[j];
    }
    const Bits active = every(t) < lanes.length;
    for (int j = 0; j < n(); ++j) {
      a[j] = RAGGED ? select(active, next[j], a[j]) : next[j];
      slot[j] = b[j], slot[n() + j] = a[j];
    }
    slot += 2 * n();
    if (!SUMMING) return;
    bases += RAGGED ? select(active, top, Real{}) : top;
    sum_of_exponents += RAGGED ? scaling.exponent & active : scaling.exponent;
    low = smaller(low, sum);
  }

  // The likelihoods, and the lanes that have none.
  unsigned finish(const Real *alpha, double *log_likelihood) {
    Real sum = {};
    for (int j = 0; j < n(); ++j) sum += alpha[j];
    unsigned lost = 0;
    for (int lane = 0; lane < group.used; ++lane) {
      const bool kept = lowest[lane] > underflow_limit && sum[lane] > underflow_limit;
      if (!kept) {
        lost |= 1U << lane;
        continue;
      }
      inverse[lane] = 1 / sum[lane];
      // The first instant was scaled, by one, too.
      const int64_t exponent = exponents[lane] - 1023 * lanes.length[lane];
      log_likelihood[group.sequence[lane]] =
          __builtin_log(sum[lane]) + static_cast<double>(exponent) * std::numbers::ln2 + base[lane];
    }
    return lost;
  }

  void backward(int64_t block, Real *beta, double *posterior) {
    const int64_t begin = block * block_length, to = end(block);
    const int64_t even = to < lanes.shortest - 1      ? to
                         : lanes.shortest - 1 > begin ? lanes.shortest - 1
                                                      : begin;
    posterior ? back<true, true>(begin, even, to, beta, posterior)
              : back<true, false>(begin, even, to, beta, posterior);
    posterior ? back<false, true>(begin, begin, even, beta, posterior)
              : back<false, false>(begin, begin, even, beta, posterior);
  }

  // Instants [from, to) of the block that begins at `begin`, last one first.
  template <bool ENDING, bool POSTERIOR>
  void back(int64_t begin, int64_t from, int64_t to, Real *carried, double *posterior) {
    if (from >= to) return;
    Real beta[array_size], a[array_size], count[array_size][array_size], w[array_size], f[array_size],
        s[array_size];
    const Real *slot = history + (to - begin) * 2 * n(); // alpha of instant to - 1
    for (int i = 0; i < n(); ++i) {
      beta[i] = carried[i], a[i] = slot[i], w[i] = weight[i], f[i] = first[i], s[i] = second[i];
      for (int j = 0; j < n(); ++j) count[i][j] = pairs[i][j];
    }
    for (int64_t t = to - 1; t >= from; --t) {
      Real gamma[array_size];
      if (ENDING) {
        const Bits last = lanes.length == t + 1;
        for (int i = 0; i < n(); ++i) beta[i] = select(last, inverse, beta[i]);
      }
      for (int j = 0; j < n(); ++j) gamma[j] = a[j] * beta[j];
      if (POSTERIOR)
        write(t, gamma, posterior);
      else
        collect<ENDING>(t, gamma, w, f, s);
      if (t == 0) {
        for (int i = 0; i < n(); ++i) starts[i] = gamma[i];
        break;
      }
      slot -= 2 * n();
      Real weighted[array_size];
      for (int j = 0; j < n(); ++j) weighted[j] = slot[n() + j] * beta[j];
      for (int i = 0; i < n(); ++i) {
        a[i] = slot[i];
        beta[i] = weighted[0] * transition[i][0];
        for (int j = 1; j < n(); ++j) beta[i] += weighted[j] * transition[i][j];
        for (int j = 0; j < n(); ++j) count[i][j] += a[i] * weighted[j];
      }
    }
    for (int i = 0; i < n(); ++i) {
      carried[i] = beta[i], weight[i] = w[i], first[i] = f[i], second[i] = s[i];
      for (int j = 0; j < n(); ++j) pairs[i][j] = count[i][j];
    }
  }

  template <bool ENDING>
  HALOSCOPE_INLINE void collect(int64_t t, const Real *gamma, Real *w, Real *f, Real *s) {
    if constexpr (requires { density.mean; }) {
      const Real x = density.template load<ENDING>(t);
      for (int j = 0; j < n(); ++j) {
        const Real d = x - density.mean[j], moment = gamma[j] * d;
        w[j] += gamma[j];
        f[j] += moment;
        s[j] += moment * d;
      }
    }
  }

  HALOSCOPE_INLINE void write(int64_t t, const Real *gamma, double *posterior) const {
    Real sum = gamma[0];
    for (int j = 1; j < n(); ++j) sum += gamma[j];
    for (int lane = 0; lane < group.used; ++lane) {
      if (t >= lanes.length[lane]) continue;
      double *row = posterior + (lanes.begin[lane] + t) * n();
      for (int j = 0; j < n(); ++j) row[j] = gamma[j][lane] / sum[lane];
    }
  }

  void add(Counts &counts) const {
    for (int i = 0; i < n(); ++i) {
      counts.start[i] += total(starts[i]);
      counts.weight[i] += total(weight[i]);
      counts.first[i] += total(first[i]);
      counts.second[i] += total(second[i]);
      for (int j = 0; j < n(); ++j) counts.transition[i][j] += transition[i][j] * total(pairs[i][j]);
    }
  }
};

} // namespace haloscope::explain::HALOSCOPE_SET
