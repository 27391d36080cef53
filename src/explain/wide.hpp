// Vectors of doubles with one sequence in each lane. Included once per instruction set, in a namespace of
// that set. Nothing here calls a library. So the linker cannot share wide code with a processor that cannot
// run it.
#pragma once

#include "explain/batch.hpp"

#include <numbers>
#include <utility>

namespace haloscope::explain::HALOSCOPE_SET {

constexpr int lane_count = HALOSCOPE_LANES;
using Real = double __attribute__((vector_size(8 * lane_count)));
using Bits = int64_t __attribute__((vector_size(8 * lane_count)));

#define HALOSCOPE_INLINE inline __attribute__((always_inline))

HALOSCOPE_INLINE Real every(double value) { return value - Real{}; }
HALOSCOPE_INLINE Bits every(int64_t value) { return value - Bits{}; }
HALOSCOPE_INLINE Real select(Bits mask, Real yes, Real no) { return mask ? yes : no; }
HALOSCOPE_INLINE Bits select(Bits mask, Bits yes, Bits no) { return mask ? yes : no; }
HALOSCOPE_INLINE Real larger(Real a, Real b) { return a > b ? a : b; }
HALOSCOPE_INLINE Real smaller(Real a, Real b) { return a < b ? a : b; }
HALOSCOPE_INLINE Bits bits(Real value) { return reinterpret_cast<Bits>(value); }
HALOSCOPE_INLINE Real real(Bits value) { return reinterpret_cast<Real>(value); }

HALOSCOPE_INLINE double total(Real value) {
  double sum = 0;
  for (int lane = 0; lane < lane_count; ++lane) sum += value[lane];
  return sum;
}

// Products with the first are exact.
constexpr double ln2_high = 0x1.62e42fefa0000p-1; // NOLINT(modernize-use-std-numbers)
constexpr double ln2_low = 0x1.cf79abc9e3b3ap-40;

// exp of zero and negative numbers, to 4e-16. Below -708 the result is 3e-308.
HALOSCOPE_INLINE Real exponential(Real x) {
  const Real round = every(0x1.8p52);
  x = larger(x, every(-708.0));
  const Real shifted = x * std::numbers::log2e + round;
  const Real n = shifted - round;
  const Real r = (x - n * ln2_high) - n * ln2_low;
  // Interpolates exp at the Chebyshev nodes of +-log(2)/2.
  Real p = every(0x1.28a2ca617b969p-22);
  p = p * r + 0x1.72fafebdaf273p-19;
  p = p * r + 0x1.a019a6611cad5p-16;
  p = p * r + 0x1.a01978b8b3d18p-13;
  p = p * r + 0x1.6c16c17f46982p-10;
  p = p * r + 0x1.1111112ddae8bp-7;
  p = p * r + 0x1.55555555520a4p-5;
  p = p * r + 0x1.555555554b736p-3;
  p = p * r + 0x1.0000000000005p-1;
  p = p * r + 0x1.000000000001ep+0;
  p = p * r + 1.0;
  return real(bits(p) + (bits(shifted) << 52));
}

// Two to minus the exponent of a positive number, and that exponent with the bias of 1023.
struct Scale {
  Real factor;
  Bits exponent;
};
HALOSCOPE_INLINE Scale scale(Real value) {
  const Bits exponent = (bits(value) >> 52) & 0x7ff;
  return {real((2046 - exponent) << 52), exponent};
}

#if __has_builtin(__builtin_shufflevector)
// Rows i and i + HALF exchange quarters: the steps of a transposition.
template <int HALF, size_t... I> HALOSCOPE_INLINE void exchange(Real &a, Real &b, std::index_sequence<I...>) {
  const Real low = __builtin_shufflevector(a, b, (I & HALF ? lane_count + (I ^ HALF) : I)...);
  b = __builtin_shufflevector(a, b, (I & HALF ? lane_count + I : I ^ HALF)...);
  a = low;
}
template <int HALF> HALOSCOPE_INLINE void exchange(Real *rows) {
  for (int i = 0; i < lane_count; ++i)
    if (!(i & HALF)) exchange<HALF>(rows[i], rows[i + HALF], std::make_index_sequence<lane_count>{});
}
HALOSCOPE_INLINE void transpose(Real *rows) {
  exchange<1>(rows);
  if constexpr (lane_count > 2) exchange<2>(rows);
  if constexpr (lane_count > 4) exchange<4>(rows);
}
#endif

// The sequences of a group, as lanes.
struct Lanes {
  int64_t begin[lane_count];
  Bits length;
  int64_t shortest;
  int64_t longest;

  HALOSCOPE_INLINE Lanes(const Batch &batch, const Group &group) {
    shortest = INT64_MAX, longest = 0;
    for (int lane = 0; lane < lane_count; ++lane) {
      const bool used = lane < group.used;
      const int64_t sequence = group.sequence[used ? lane : 0], own = batch.lengths[sequence];
      begin[lane] = batch.begins[sequence];
      length[lane] = own;
      shortest = own < shortest ? own : shortest;
      longest = own > longest ? own : longest;
    }
  }
  // The position of instant t of a lane. Behind its end it is the last one.
  template <bool RAGGED> HALOSCOPE_INLINE int64_t place(int lane, int64_t t) const {
    return begin[lane] + (RAGGED && t >= length[lane] ? length[lane] - 1 : t);
  }
};

// The log densities of the states: Gaussian ones of the values.
template <int STATES> struct Gaussian {
  static constexpr int array_size = STATES ? STATES : most_states;
  const double *values;
  const Lanes &lanes;
  int states;
  double mean[array_size], precision[array_size], constant[array_size];

  HALOSCOPE_INLINE Gaussian(const Batch &batch, const Lanes &of)
      : values{batch.values}, lanes{of}, states{STATES ? STATES : batch.states} {
    for (int j = 0; j < states; ++j) {
      mean[j] = batch.means[j];
      precision[j] = -0.5 / (batch.deviations[j] * batch.deviations[j]);
      constant[j] = -0.91893853320467274178 - __builtin_log(batch.deviations[j]);
    }
  }
  template <bool RAGGED> HALOSCOPE_INLINE Real load(int64_t t) const {
    Real x;
    for (int lane = 0; lane < lane_count; ++lane) x[lane] = values[lanes.place<RAGGED>(lane, t)];
    return x;
  }
  // Loads one instant per lane from t on. All lanes must have them.
  HALOSCOPE_INLINE void load_all(int64_t t, Real *x) const {
#if __has_builtin(__builtin_shufflevector)
    for (int lane = 0; lane < lane_count; ++lane)
      __builtin_memcpy(&x[lane], values + lanes.begin[lane] + t, sizeof(Real));
    transpose(x);
#else
    for (int i = 0; i < lane_count; ++i) x[i] = load<false>(t + i);
#endif
  }
  template <bool RAGGED> HALOSCOPE_INLINE void at(int64_t t, Real *result) const {
    of(load<RAGGED>(t), result);
  }
  HALOSCOPE_INLINE void of(Real x, Real *result) const {
    for (int j = 0; j < (STATES ? STATES : states); ++j) {
      const Real d = x - mean[j];
      result[j] = larger(d * d * precision[j] + constant[j], every(impossible));
    }
  }
};

// Densities that the caller has computed.
template <int STATES> struct Given {
  const double *log_density;
  const Lanes &lanes;
  int states;

  HALOSCOPE_INLINE Given(const Batch &batch, const Lanes &of)
      : log_density{batch.log_density}, lanes{of}, states{STATES ? STATES : batch.states} {}
  template <bool RAGGED> HALOSCOPE_INLINE void at(int64_t t, Real *result) const {
    const double *row[lane_count];
    for (int lane = 0; lane < lane_count; ++lane)
      row[lane] = log_density + lanes.place<RAGGED>(lane, t) * states;
    for (int j = 0; j < (STATES ? STATES : states); ++j) {
      Real value;
      for (int lane = 0; lane < lane_count; ++lane) value[lane] = row[lane][j];
      result[j] = larger(value, every(impossible));
    }
  }
};

} // namespace haloscope::explain::HALOSCOPE_SET
