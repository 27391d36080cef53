#include "regimes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace haloscope::overlap {

namespace {

constexpr int parameters_each = 3;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

double normal(double value, double mean, double std) noexcept {
  const double z = (value - mean) / std;
  return -0.5 * z * z - std::log(std * std::sqrt(2 * std::numbers::pi));
}

double log_gamma(double value) noexcept {
  int sign = 0;
  return lgamma_r(value, &sign);
}

bool is_distribution(const double *values, int count) noexcept {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    if (!(values[i] >= 0)) return false;
    sum += values[i];
  }
  return std::abs(sum - 1) < 1e-6;
}

} // namespace

const char *wrong_with(const haloscope_overlap_regimes &model) noexcept {
  if (model.count < 1 || model.count > 32) return "regimes: from 1 to 32 are possible";
  if (model.start == nullptr || model.transition == nullptr || model.parameters == nullptr)
    return "regimes: start, transition and parameters must be given";
  if (!is_distribution(model.start, model.count)) return "regimes: start does not add up to 1";
  for (int i = 0; i < model.count; i++) {
    const auto row = static_cast<std::ptrdiff_t>(i);
    if (!is_distribution(model.transition + row * model.count, model.count))
      return "regimes: a row of transition does not add up to 1";
    const double *p = model.parameters + row * parameters_each;
    const bool is_gamma = model.family == HALOSCOPE_OVERLAP_GAMMA;
    if (!(p[1] > 0) || !std::isfinite(p[0]) || (is_gamma && !(p[0] > 0)) ||
        (model.family == HALOSCOPE_OVERLAP_STUDENT && !(p[2] > 2)))
      return "regimes: a parameter is out of its family's range";
  }
  return "";
}

Filter::Filter(const haloscope_overlap_regimes &model)
    : family_(model.family),
      transition_(model.transition, model.transition + std::ptrdiff_t{model.count} * model.count),
      parameters_(model.parameters, model.parameters + std::ptrdiff_t{model.count} * parameters_each),
      next_(model.start, model.start + model.count), last_(next_) {}

double Filter::log_density(std::size_t regime, double seconds) const noexcept {
  const double *p = parameters_.data() + regime * parameters_each;
  switch (family_) {
  case HALOSCOPE_OVERLAP_GAUSSIAN:
    return normal(seconds, p[0], p[1]);
  case HALOSCOPE_OVERLAP_LOGNORMAL:
    return seconds > 0 ? normal(std::log(seconds), p[0], p[1]) - std::log(seconds) : minus_infinity;
  case HALOSCOPE_OVERLAP_GAMMA: {
    const double above = seconds - p[2];
    if (!(above > 0)) return minus_infinity;
    return (p[0] - 1) * std::log(above) - above / p[1] - log_gamma(p[0]) - p[0] * std::log(p[1]);
  }
  case HALOSCOPE_OVERLAP_STUDENT: {
    const double z = (seconds - p[0]) / p[1], degrees = p[2];
    return log_gamma((degrees + 1) / 2) - log_gamma(degrees / 2) -
           0.5 * std::log(degrees * std::numbers::pi) - std::log(p[1]) -
           (degrees + 1) / 2 * std::log1p(z * z / degrees);
  }
  }
  return minus_infinity;
}

void Filter::see(double seconds) noexcept {
  const std::size_t regimes = count();
  double highest = minus_infinity, sum = 0;
  for (std::size_t i = 0; i < regimes; i++) {
    last_[i] = std::log(next_[i]) + log_density(i, seconds);
    highest = std::max(highest, last_[i]);
  }
  // What no regime can have says nothing about them.
  for (std::size_t i = 0; i < regimes; i++) {
    last_[i] = std::isfinite(highest) ? std::exp(last_[i] - highest) : next_[i];
    sum += last_[i];
  }
  std::ranges::fill(next_, 0.0);
  for (std::size_t i = 0; i < regimes; i++) {
    last_[i] /= sum;
    for (std::size_t j = 0; j < regimes; j++) next_[j] += last_[i] * transition_[i * regimes + j];
  }
}

} // namespace haloscope::overlap
