// The splitting parameter α, and what is derived from it. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace haloscope::overlap {

inline constexpr double rounding = 1e-6; // of an item: 1/n · n may be less than 1

inline std::size_t split(std::size_t items, double alpha) noexcept {
  const double exact = std::clamp(alpha, 0.0, 1.0) * static_cast<double>(items) + rounding;
  return std::min(items, static_cast<std::size_t>(exact));
}

// Both parts keep an item: r = α/(1−α) recovers from neither 0 nor infinity.
inline double bounded(double alpha, std::size_t items) noexcept {
  if (items < 2) return 0.5;
  const double least = 1 / static_cast<double>(items);
  return std::clamp(alpha, least, 1 - least);
}

struct Update {
  double theta, epsilon, largest_step;

  // Algorithm 3. The printed one lacks the second case; by its text it mirrors the first: r · ε/T_out.
  [[nodiscard]] double operator()(double alpha, std::size_t items, double input_wait,
                                  double output_wait) const noexcept {
    double factor = 1;
    if (input_wait > epsilon && output_wait < epsilon)
      factor = std::min(input_wait / epsilon, largest_step);
    else if (input_wait < epsilon && output_wait > epsilon)
      factor = std::max(epsilon / output_wait, 1 / largest_step);
    else
      return alpha; // all is hidden, or too much to be hidden
    const double before = bounded(alpha, items);
    const double r = before / (1 - before) * factor;
    return bounded(theta * r / (1 + r) + (1 - theta) * before, items);
  }
};

// Items between two polls, so that polls take no more than their share of the time.
inline std::size_t chunk(std::size_t items, double budget, double poll, double item) noexcept {
  if (items == 0) return 1;
  const double wanted = item > 0 ? poll / (budget * item) : static_cast<double>(items);
  const double most = std::max(1.0, static_cast<double>(items));
  return static_cast<std::size_t>(std::clamp(std::ceil(wanted), 1.0, most));
}

} // namespace haloscope::overlap
