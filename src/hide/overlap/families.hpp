// The distributions that a regime's times may have: docs/reference/regimes-model.md. Pure.
#pragma once

#include <haloscope/overlap.h>

namespace haloscope::overlap {

inline constexpr int parameters_each = 3;

// Whether these three numbers are parameters of the family.
bool are_parameters(haloscope_overlap_family family, const double *p) noexcept;
// Natural logarithms of the density, and of the probability of at most so many seconds.
double log_density(haloscope_overlap_family family, const double *p, double seconds) noexcept;
double log_at_most(haloscope_overlap_family family, const double *p, double seconds) noexcept;

} // namespace haloscope::overlap
