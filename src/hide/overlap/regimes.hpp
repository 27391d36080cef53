// The probabilities of the next regime: the filter of a hidden Markov model, one instance at a time. Also the
// distributions of a regime's times (docs/reference/regimes-model.md).
#pragma once

#include <haloscope/overlap.h>

#include <vector>

namespace haloscope::overlap {

inline constexpr int parameters_each = 3;

// Whether these three numbers are parameters of the family.
bool are_parameters(haloscope_overlap_family family, const double *p) noexcept;
// Natural logarithms of the density, and of the probability of at most `seconds`.
double log_density(haloscope_overlap_family family, const double *p, double seconds) noexcept;
double log_at_most(haloscope_overlap_family family, const double *p, double seconds) noexcept;

class Filter {
public:
  Filter() = default;
  explicit Filter(const haloscope_overlap_regimes &model);

  [[nodiscard]] std::size_t count() const noexcept { return next_.size(); }
  // Probability of each regime for the next instance, before it is seen.
  [[nodiscard]] const std::vector<double> &next() const noexcept { return next_; }
  // Probability of each regime for the last instance, after it was seen and before.
  [[nodiscard]] const std::vector<double> &last() const noexcept { return last_; }
  [[nodiscard]] const std::vector<double> &before() const noexcept { return before_; }
  // An exchange that was waited for by no more than `epsilon` took at most its block.
  void see(const haloscope_overlap_times &times, double epsilon) noexcept;

private:
  [[nodiscard]] double log_likelihood(std::size_t regime, const haloscope_overlap_times &times,
                                      double epsilon) const noexcept;

  haloscope_overlap_family family_ = HALOSCOPE_OVERLAP_GAUSSIAN;
  std::vector<double> transition_, next_, last_, before_;
  std::vector<double> blocks_, input_, output_; // parameters, or nothing
};

// Returns the error in a model, or an empty string.
const char *wrong_with(const haloscope_overlap_regimes &model) noexcept;

} // namespace haloscope::overlap
