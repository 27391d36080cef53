#include "hide/overlap/overlap.hpp"

#include <limits>

namespace haloscope::overlap {

namespace {

// False if `value` is NaN.
bool within(double value, double low, double high) { return value >= low && value <= high; }

} // namespace

std::string wrong(const haloscope_overlap_settings &settings) {
  constexpr double least = std::numeric_limits<double>::min();
  const auto says = [](const char *what, double value, const char *range) {
    return std::string{"overlap: "} + what + " is " + std::to_string(value) + ": it must be " + range;
  };
  if (settings.policy < HALOSCOPE_OVERLAP_FIXED || settings.policy > HALOSCOPE_OVERLAP_REGIMES)
    return "overlap: there is no policy " + std::to_string(static_cast<int>(settings.policy));
  if (!within(settings.alpha, 0, 1)) return says("alpha", settings.alpha, "in [0, 1]");
  if (!within(settings.theta, 0, 1)) return says("theta", settings.theta, "in [0, 1]");
  if (!within(settings.epsilon, least, std::numeric_limits<double>::max()))
    return says("epsilon", settings.epsilon, "a time greater than 0, in seconds");
  if (!(settings.largest_step > 1)) return says("largest_step", settings.largest_step, "greater than 1");
  if (!within(settings.budget, least, 1)) return says("budget", settings.budget, "in (0, 1]");
  if (settings.phases < 1) return says("phases", settings.phases, "1 or more");
  if (settings.policy != HALOSCOPE_OVERLAP_REGIMES) return {};
  if (settings.regimes == nullptr) return "overlap: the policy REGIMES needs a regime model";
  const std::string text = wrong_with(*settings.regimes);
  return text.empty() ? text : "overlap: " + text;
}

} // namespace haloscope::overlap
