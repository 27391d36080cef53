#include "hide/overlap/regimes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace haloscope::overlap {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
constexpr double exact = 1e-12; // of series and fractions
constexpr int terms = 500;

double log_gamma(double value) noexcept {
  int sign = 0;
  return lgamma_r(value, &sign);
}

double log_normal_density(double value, double mean, double std) noexcept {
  const double z = (value - mean) / std;
  return -0.5 * z * z - std::log(std * std::sqrt(2 * std::numbers::pi));
}

double normal_at_most(double z) noexcept { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

// The continued fraction 1/(1 + c(1)/(1 + c(2)/(1 + …))), by Lentz's method.
template <class Coefficient> double fraction(Coefficient c) noexcept {
  constexpr double tiny = 1e-300;
  const auto not_zero = [=](double value) { return value == 0 ? tiny : value; };
  double value = tiny, above = tiny, below = 0;
  for (int i = 0; i < terms; i++) {
    const double numerator = i == 0 ? 1 : c(i);
    below = 1 / not_zero(1 + numerator * below);
    above = not_zero(1 + numerator / above);
    value *= above * below;
    if (std::abs(above * below - 1) < exact) break;
  }
  return value;
}

// Regularised incomplete gamma function P: the series of the lower one; Legendre's fraction of the upper one.
double gamma_at_most(double shape, double x) noexcept {
  if (!(x > 0)) return 0;
  const double scale = std::exp(shape * std::log(x) - x - log_gamma(shape));
  if (x > shape + 1) {
    const auto c = [&](int i) {
      const int half = (i + 1) / 2;
      return (i % 2 == 1 ? half - shape : half) / x;
    };
    return 1 - scale / x * fraction(c);
  }
  double term = 1 / shape, sum = term;
  for (int i = 1; i < terms && term > exact * sum; i++) sum += term *= x / (shape + i);
  return scale * sum;
}

// Regularised incomplete beta function by its fraction, which converges for x < (a + 1)/(a + b + 2).
double beta_part(double a, double b, double x) noexcept {
  const auto c = [&](int i) {
    const int half = i / 2;
    const double m = half;
    const double top = i % 2 == 0 ? m * (b - m) : -(a + m) * (a + b + m);
    return top * x / ((a + i - 1) * (a + i));
  };
  const double log_scale =
      a * std::log(x) + b * std::log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
  return std::exp(log_scale) / a * fraction(c);
}

double student_at_most(double z, double degrees) noexcept {
  const double a = degrees / 2, b = 0.5, x = degrees / (degrees + z * z);
  if (z == 0) return 0.5;
  const double tails = x < (a + 1) / (a + b + 2) ? beta_part(a, b, x) : 1 - beta_part(b, a, 1 - x);
  return z < 0 ? tails / 2 : 1 - tails / 2;
}

double at_most(haloscope_overlap_family family, const double *p, double seconds) noexcept {
  switch (family) {
  case HALOSCOPE_OVERLAP_GAUSSIAN:
    return normal_at_most((seconds - p[0]) / p[1]);
  case HALOSCOPE_OVERLAP_LOGNORMAL:
    return seconds > 0 ? normal_at_most((std::log(seconds) - p[0]) / p[1]) : 0;
  case HALOSCOPE_OVERLAP_GAMMA:
    return gamma_at_most(p[0], (seconds - p[2]) / p[1]);
  case HALOSCOPE_OVERLAP_STUDENT:
    return student_at_most((seconds - p[0]) / p[1], p[2]);
  }
  return 0;
}

} // namespace

bool are_parameters(haloscope_overlap_family family, const double *p) noexcept {
  if (!(p[1] > 0) || !std::isfinite(p[1]) || !std::isfinite(p[0])) return false;
  if (family == HALOSCOPE_OVERLAP_GAMMA) return p[0] > 0 && std::isfinite(p[2]);
  return family != HALOSCOPE_OVERLAP_STUDENT || (p[2] > 2 && std::isfinite(p[2]));
}

double log_density(haloscope_overlap_family family, const double *p, double seconds) noexcept {
  switch (family) {
  case HALOSCOPE_OVERLAP_GAUSSIAN:
    return log_normal_density(seconds, p[0], p[1]);
  case HALOSCOPE_OVERLAP_LOGNORMAL:
    return seconds > 0 ? log_normal_density(std::log(seconds), p[0], p[1]) - std::log(seconds)
                       : minus_infinity;
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

double log_at_most(haloscope_overlap_family family, const double *p, double seconds) noexcept {
  return std::log(std::clamp(at_most(family, p, seconds), 0.0, 1.0));
}

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
  // An instance that is impossible in all regimes says nothing about them.
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
