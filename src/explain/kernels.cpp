// The kernels of one instruction set: compiled once for each, with HALOSCOPE_SET and HALOSCOPE_LANES.
#include "explain/forward_backward.hpp"
#include "explain/replaying.hpp"
#include "explain/wide.hpp"

namespace haloscope::explain::HALOSCOPE_SET {

namespace {

// The most likely states of the sequences of a group, one in each lane. Of equals the lowest state is taken.
template <int STATES, template <int> class Density> class Viterbi {
public:
  HALOSCOPE_INLINE Viterbi(const Batch &of, const Group &of_group, void *space)
      : batch{of}, group{of_group}, lanes{of, of_group}, density{of, lanes},
        states{STATES ? STATES : of.states}, pointers{static_cast<Bytes *>(space)} {
    for (int lane = 0; lane < lane_count; ++lane) eights[lane] = int64_t{8} * lane;
    for (int i = 0; i < states; ++i)
      for (int j = 0; j < states; ++j) transition[i][j] = logarithm(batch.transition[i * states + j]);
  }

  void run(uint8_t *result) {
    Real delta[array_size];
    density.template at<true>(0, delta);
    for (int j = 0; j < n(); ++j) delta[j] += logarithm(batch.start[j]);
    ahead<false>(1, lanes.shortest, delta);
    ahead<true>(lanes.shortest, lanes.longest, delta);
    Bits state = {};
    for (int j = 1; j < n(); ++j) {
      state = select(delta[j] > delta[0], every(int64_t{j}), state);
      delta[0] = larger(delta[0], delta[j]);
    }
    back(state, result);
  }

private:
  static constexpr int array_size = STATES ? STATES : most_states;
  static constexpr bool is_packed = STATES != 0; // two bits a state in a byte a lane, or a byte each
  using Bytes = uint8_t __attribute__((vector_size(lane_count)));
  const Batch &batch;
  const Group &group;
  const Lanes lanes;
  const Density<STATES> density;
  const int states;
  Bytes *pointers;
  Bits eights;
  double transition[array_size][array_size];

  HALOSCOPE_INLINE int n() const { return STATES ? STATES : states; }
  HALOSCOPE_INLINE int stride() const { return is_packed ? 1 : n(); }
  HALOSCOPE_INLINE static double logarithm(double x) { return x > 0 ? __builtin_log(x) : impossible; }

  // From instant `from` - 1 to `to` - 1. Lanes that have ended stay where they are.
  template <bool RAGGED> void ahead(int64_t from, int64_t to, Real *carried) {
    Real delta[array_size], next[array_size];
    for (int j = 0; j < n(); ++j) delta[j] = carried[j];
    int64_t t = from;
    if constexpr (!RAGGED && requires { density.mean; }) {
      for (; t + lane_count <= to; t += lane_count) {
        Real x[lane_count];
        density.load_all(t, x);
        for (int i = 0; i < lane_count; ++i) {
          density.of(x[i], next);
          step<RAGGED>(t + i, delta, next);
        }
        relate(delta);
      }
    }
    for (; t < to; ++t) {
      density.template at<RAGGED>(t, next);
      step<RAGGED>(t, delta, next);
      relate(delta);
    }
    for (int j = 0; j < n(); ++j) carried[j] = delta[j];
  }

  // Only differences matter, and stay precise when they are taken now and then.
  HALOSCOPE_INLINE void relate(Real *delta) {
    Real top = delta[0];
    for (int j = 1; j < n(); ++j) top = larger(top, delta[j]);
    for (int j = 0; j < n(); ++j) delta[j] -= top;
  }

  // `next` are the densities of instant t.
  template <bool RAGGED> HALOSCOPE_INLINE void step(int64_t t, Real *delta, Real *next) {
    Bytes *target = pointers + (t - 1) * stride();
    const Bits active = every(t) < lanes.length;
    Bits word = {};
    for (int j = 0; j < n(); ++j) {
      Real best = delta[0] + transition[0][j];
      Bits from_state = {};
      for (int i = 1; i < n(); ++i) {
        const Real through = delta[i] + transition[i][j];
        from_state = select(through > best, every(int64_t{i}), from_state);
        best = larger(best, through);
      }
      next[j] = RAGGED ? select(active, next[j] + best, delta[j]) : next[j] + best;
      if (RAGGED) from_state = select(active, from_state, every(int64_t{j}));
      if (is_packed)
        word |= from_state << (2 * j);
      else
        target[j] = __builtin_convertvector(from_state, Bytes);
    }
    if (is_packed) *target = __builtin_convertvector(word, Bytes);
    for (int j = 0; j < n(); ++j) delta[j] = next[j];
  }

  HALOSCOPE_INLINE Bits before(int64_t t, Bits state) const {
    const Bytes *source = pointers + (t - 1) * stride();
    if (is_packed) { // a lane takes its bits out of the bytes of all
      int64_t bytes = 0;
      __builtin_memcpy(&bytes, source, lane_count);
      return (every(bytes) >> (eights + 2 * state)) & 3;
    }
    for (int lane = 0; lane < lane_count; ++lane) state[lane] = source[state[lane]][lane];
    return state;
  }

  // States are gathered by eights: a lane's word is then eight neighbours in the result.
  void back(Bits state, uint8_t *result) const {
    int64_t t = lanes.longest - 1;
    for (; t >= 0 && (t % 8 != 7 || t >= lanes.shortest); --t) {
      for (int lane = 0; lane < group.used; ++lane)
        if (t < lanes.length[lane]) result[lanes.begin[lane] + t] = static_cast<uint8_t>(state[lane]);
      if (t) state = before(t, state);
    }
    for (; t >= 0; t -= 8) {
      Bits word = state;
      for (int64_t u = t; u > t - 7; --u) {
        state = before(u, state);
        word = (word << 8) | state;
      }
      if (t > 7) state = before(t - 7, state);
      for (int lane = 0; lane < group.used; ++lane) {
        const int64_t eight = word[lane];
        __builtin_memcpy(result + lanes.begin[lane] + t - 7, &eight, 8);
      }
    }
  }
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Viterbi stores eight states as one word");

template <int STATES, template <int> class Density>
unsigned expect(const Batch &batch, const Group &group, Workspace space, double *log_likelihood,
                Counts *counts, double *posterior) {
  return ForwardBackward<STATES, Density>{batch, group, space}.run(log_likelihood, counts, posterior);
}

template <int STATES, template <int> class Density>
void decode(const Batch &batch, const Group &group, void *pointers, uint8_t *states) {
  Viterbi<STATES, Density>{batch, group, pointers}.run(states);
}

// Few states have loops of their own.
template <template <int> class Density> decltype(&expect<0, Density>) expectation_of(int states) {
  switch (states) {
  case 2:
    return expect<2, Density>;
  case 3:
    return expect<3, Density>;
  case 4:
    return expect<4, Density>;
  default:
    return expect<0, Density>;
  }
}

template <template <int> class Density> decltype(&decode<0, Density>) viterbi_of(int states) {
  switch (states) {
  case 2:
    return decode<2, Density>;
  case 3:
    return decode<3, Density>;
  case 4:
    return decode<4, Density>;
  default:
    return decode<0, Density>;
  }
}

unsigned expectation(const Batch &batch, const Group &group, Workspace space, double *log_likelihood,
                     Counts *counts, double *posterior) {
  const auto function =
      batch.log_density ? expectation_of<Given>(batch.states) : expectation_of<Gaussian>(batch.states);
  return function(batch, group, space, log_likelihood, counts, posterior);
}

void viterbi(const Batch &batch, const Group &group, void *pointers, uint8_t *states) {
  const auto function =
      batch.log_density ? viterbi_of<Given>(batch.states) : viterbi_of<Gaussian>(batch.states);
  function(batch, group, pointers, states);
}

} // namespace

extern const Kernels kernels;
const Kernels kernels{HALOSCOPE_NAME, lane_count, expectation, viterbi, replay};

} // namespace haloscope::explain::HALOSCOPE_SET
