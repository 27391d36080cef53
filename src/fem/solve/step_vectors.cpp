// The s-step method's two passes through memory.
#include "fem/solve/s_step.hpp"

#include <algorithm>
#include <cstring>

namespace haloscope::fem {

namespace {

constexpr std::size_t tile = 512; // rows at a time: all columns of a tile stay in the cache

using Lanes = double __attribute__((vector_size(64)));
constexpr std::size_t lanes = sizeof(Lanes) / sizeof(double);

double dot(const double *x, const double *y, std::size_t n) {
  Lanes sum{};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Lanes a, b;
    std::memcpy(&a, x + i, sizeof a);
    std::memcpy(&b, y + i, sizeof b);
    sum += a * b;
  }
  double rest = 0;
  for (; i < n; ++i) rest += x[i] * y[i];
  for (std::size_t lane = 0; lane < lanes; ++lane) rest += sum[lane];
  return rest;
}

void add(double *__restrict y, double factor, const double *__restrict x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// Columns of one tile: the old ones are saved, as the new ones take their place.
void combine(MultiVector &q, const MultiVector &u, int m_old, int m_new, std::span<const double> b,
             std::size_t begin, std::size_t n) {
  double old[most_steps][tile]; // NOLINT: not initialised on purpose
  for (int i = 0; i < m_old; ++i) std::copy_n(q.column(i) + begin, n, old[i]);
  for (int j = 0; j < m_new; ++j) {
    double *to = q.column(j) + begin;
    std::copy_n(u.column(j) + begin, n, to);
    for (int i = 0; i < m_old; ++i)
      add(to, b[static_cast<std::size_t>(j) * most_steps + static_cast<std::size_t>(i)], old[i], n);
  }
}

} // namespace

std::size_t products(const StepVectors &basis, std::span<const double> r, int s, int m,
                     std::span<double> result) {
  std::ranges::fill(result, 0.0);
  std::size_t at = 0;
  for (std::size_t begin = 0; begin == 0 || begin < r.size(); begin += tile) {
    const std::size_t n = std::min(tile, r.size() - begin);
    at = 0;
    const auto sum = [&](const double *x, const double *y) { result[at++] += dot(x + begin, y + begin, n); };
    for (int i = 0; i < s; ++i)
      for (int j = 0; j <= i; ++j) sum(basis.u.column(i), basis.au.column(j));
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < s; ++j) sum(basis.aq.column(i), basis.u.column(j));
    for (int i = 0; i < s; ++i) sum(basis.u.column(i), r.data());
    for (int i = 0; i < m; ++i) sum(basis.q.column(i), r.data());
    sum(r.data(), r.data());
  }
  return at;
}

void advance(StepVectors &basis, int m_old, int m_new, std::span<const double> b, std::span<const double> a,
             std::span<double> x, std::span<double> r) {
  for (std::size_t begin = 0; begin < r.size(); begin += tile) {
    const std::size_t n = std::min(tile, r.size() - begin);
    combine(basis.q, basis.u, m_old, m_new, b, begin, n);
    combine(basis.aq, basis.au, m_old, m_new, b, begin, n);
    for (int j = 0; j < m_new; ++j) {
      add(x.data() + begin, a[static_cast<std::size_t>(j)], basis.q.column(j) + begin, n);
      add(r.data() + begin, -a[static_cast<std::size_t>(j)], basis.aq.column(j) + begin, n);
    }
  }
}

} // namespace haloscope::fem
