// Which regime comes next: the filter of a hidden Markov model, an instance at a time.
#pragma once

#include <haloscope/overlap.h>

#include <vector>

namespace haloscope::overlap {

class Filter {
public:
  Filter() = default;
  explicit Filter(const haloscope_overlap_regimes &model);

  [[nodiscard]] std::size_t count() const noexcept { return next_.size(); }
  // Probability of each regime for the next instance, before it is seen.
  [[nodiscard]] const std::vector<double> &next() const noexcept { return next_; }
  // Probability of each regime for the last instance, after it was seen.
  [[nodiscard]] const std::vector<double> &last() const noexcept { return last_; }
  void see(double seconds) noexcept;

private:
  [[nodiscard]] double log_density(std::size_t regime, double seconds) const noexcept;

  haloscope_overlap_family family_ = HALOSCOPE_OVERLAP_GAUSSIAN;
  std::vector<double> transition_, parameters_, next_, last_;
};

// Empty if the model makes sense, else what does not.
const char *wrong_with(const haloscope_overlap_regimes &model) noexcept;

} // namespace haloscope::overlap
