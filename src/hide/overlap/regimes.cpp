#include "hide/overlap/regimes.hpp"

#include "hide/overlap/families.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace haloscope::overlap {

namespace {

bool is_distribution(const double *values, int count) noexcept {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    if (!(values[i] >= 0)) return false;
    sum += values[i];
  }
  return std::abs(sum - 1) < 1e-6;
}

bool make_sense(const haloscope_overlap_regimes &model, const double *parameters) noexcept {
  for (int i = 0; parameters != nullptr && i < model.count; i++)
    if (!are_parameters(model.family, parameters + std::ptrdiff_t{i} * parameters_each)) return false;
  return true;
}

std::vector<double> copy(const double *values, int count) {
  return values == nullptr ? std::vector<double>{} : std::vector<double>(values, values + count);
}

} // namespace

const char *wrong_with(const haloscope_overlap_regimes &model) noexcept {
  if (model.family < HALOSCOPE_OVERLAP_GAUSSIAN || model.family > HALOSCOPE_OVERLAP_STUDENT)
    return "regimes: there is no such family";
  if (model.count < 1 || model.count > 32) return "regimes: from 1 to 32 are possible";
  if (model.start == nullptr || model.transition == nullptr ||
      (model.blocks == nullptr && model.input == nullptr && model.output == nullptr))
    return "regimes: start, transition and the parameters of blocks, input or output must be given";
  if (!is_distribution(model.start, model.count)) return "regimes: start does not add up to 1";
  for (int i = 0; i < model.count; i++)
    if (!is_distribution(model.transition + std::ptrdiff_t{i} * model.count, model.count))
      return "regimes: a row of transition does not add up to 1";
  for (const double *parameters : {model.blocks, model.input, model.output})
    if (!make_sense(model, parameters)) return "regimes: a parameter is out of its family's range";
  return "";
}

Filter::Filter(const haloscope_overlap_regimes &model)
    : family_(model.family), transition_(copy(model.transition, model.count * model.count)),
      next_(copy(model.start, model.count)), last_(next_), before_(next_),
      blocks_(copy(model.blocks, model.count * parameters_each)),
      input_(copy(model.input, model.count * parameters_each)),
      output_(copy(model.output, model.count * parameters_each)) {}

double Filter::log_likelihood(std::size_t regime, const haloscope_overlap_times &times,
                              double epsilon) const noexcept {
  const auto exchange = [&](const std::vector<double> &parameters, double block, double wait) {
    if (parameters.empty()) return 0.0;
    const double *p = parameters.data() + regime * parameters_each;
    return wait > epsilon ? log_density(family_, p, block) : log_at_most(family_, p, block);
  };
  double sum = exchange(input_, times.input_block, times.input_wait) +
               exchange(output_, times.output_block, times.output_wait);
  if (!blocks_.empty())
    sum += log_density(family_, blocks_.data() + regime * parameters_each,
                       times.input_block + times.output_block);
  return sum;
}

void Filter::see(const haloscope_overlap_times &times, double epsilon) noexcept {
  const std::size_t regimes = count();
  double highest = -std::numeric_limits<double>::infinity(), sum = 0;
  before_.swap(next_);
  for (std::size_t i = 0; i < regimes; i++) {
    last_[i] = std::log(before_[i]) + log_likelihood(i, times, epsilon);
    highest = std::max(highest, last_[i]);
  }
  // What no regime can have says nothing about them.
  for (std::size_t i = 0; i < regimes; i++) {
    last_[i] = std::isfinite(highest) ? std::exp(last_[i] - highest) : before_[i];
    sum += last_[i];
  }
  std::ranges::fill(next_, 0.0);
  for (std::size_t i = 0; i < regimes; i++) {
    last_[i] /= sum;
    for (std::size_t j = 0; j < regimes; j++) next_[j] += last_[i] * transition_[i * regimes + j];
  }
}

} // namespace haloscope::overlap
