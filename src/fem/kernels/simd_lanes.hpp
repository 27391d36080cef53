// Vectors of doubles with the width of the processor's registers, by the compiler's vector types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace haloscope::fem::kernels {

#if defined(__AVX512F__)
inline constexpr int lanes = 8;
#elif defined(__AVX__)
inline constexpr int lanes = 4;
#else
inline constexpr int lanes = 2;
#endif

using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

inline Lanes broadcast(double value) { return Lanes{} + value; }

inline Lanes load(const double *from) {
  Lanes value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

inline Lanes load(const double *from, int which) { return load(from + std::ptrdiff_t{which} * lanes); }

inline void store(double *to, Lanes value) { std::memcpy(to, &value, sizeof value); }

inline void store(double *to, int which, Lanes value) { store(to + std::ptrdiff_t{which} * lanes, value); }

// The reciprocal of each, exact to the last bit or two.
inline Lanes reciprocal(Lanes value) {
#if defined(__AVX512F__)
  Lanes guess = _mm512_maskz_rcp14_pd(__mmask8{255}, value); // 14 bits, then 28, then all
  guess = guess * (2.0 - value * guess);
  return guess + guess * (1.0 - value * guess);
#else
  return 1.0 / value;
#endif
}

inline Lanes gather(const double *x, const std::int32_t *index) {
#if defined(__AVX512F__)
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(index));
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), __mmask8{255}, at, x, 8);
#else
  Lanes value{};
  for (int lane = 0; lane < lanes; ++lane) value[lane] = x[index[lane]];
  return value;
#endif
}

// A negative index reads 0.
inline Lanes gather_present(const double *x, const std::int32_t *index) {
#if defined(__AVX512F__)
  const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(index));
  const auto absent = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(at)));
  return _mm512_mask_i32gather_pd(_mm512_setzero_pd(), static_cast<__mmask8>(~absent), at, x, 8);
#else
  Lanes value{};
  for (int lane = 0; lane < lanes; ++lane) value[lane] = index[lane] < 0 ? 0.0 : x[index[lane]];
  return value;
#endif
}

// Lane after lane, because two lanes may have the same node.
inline void scatter_add(double *y, const std::int32_t *index, Lanes value) {
#pragma GCC unroll 8
  for (int lane = 0; lane < lanes; ++lane) y[index[lane]] += value[lane];
}

inline void scatter_add_present(double *y, const std::int32_t *index, Lanes value) {
#pragma GCC unroll 8
  for (int lane = 0; lane < lanes; ++lane)
    if (index[lane] >= 0) y[index[lane]] += value[lane];
}

} // namespace haloscope::fem::kernels
