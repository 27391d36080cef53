#include "hide/overlap/overlap.hpp"

#include <cmath>
#include <limits>
#include <new>
#include <string>

namespace {

using haloscope::overlap::Phase;

thread_local std::string error_text; // NOLINT: a line a thread

// Nothing is within that is not a number.
bool within(double value, double low, double high) { return value >= low && value <= high; }

// Empty if the settings make sense.
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
  const std::string text = haloscope::overlap::wrong_with(*settings.regimes);
  return text.empty() ? text : "overlap: " + text;
}

haloscope_overlap *make(const haloscope_overlap_settings &settings, std::size_t items) {
  auto *overlap = new haloscope_overlap{settings, items, {}};
  overlap->phases.reserve(static_cast<std::size_t>(settings.phases));
  for (int i = 0; i < settings.phases; i++) overlap->phases.emplace_back(overlap->settings, items);
  overlap->settings.regimes = nullptr; // copied
  return overlap;
}

const Phase *phase_of(const haloscope_overlap *overlap, int phase) {
  if (phase >= 0 && static_cast<std::size_t>(phase) < overlap->phases.size())
    return &overlap->phases[static_cast<std::size_t>(phase)];
  error_text =
      "overlap: there is no phase " + std::to_string(phase) + " of " + std::to_string(overlap->phases.size());
  return nullptr;
}

} // namespace

extern "C" {

haloscope_overlap_settings haloscope_overlap_defaults() {
  return {HALOSCOPE_OVERLAP_FIXED, 0.5, 0.5, 1e-4, 4, 0, 0.005, 1, 0, 0, nullptr, nullptr};
}

int haloscope_overlap_create(const haloscope_overlap_settings *settings, size_t items, MPI_Comm comm,
                             haloscope_overlap **made) {
  *made = nullptr;
  try {
    error_text = wrong(*settings);
    int mine = error_text.empty() ? 1 : 0, all = 0;
    const int result = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    if (result != MPI_SUCCESS) return result;
    if (all == 0) {
      if (mine != 0) error_text = "overlap: another rank's settings make no sense";
      return MPI_ERR_ARG;
    }
    *made = make(*settings, items);
  } catch (const std::bad_alloc &) {
    return MPI_ERR_NO_MEM;
  }
  return MPI_SUCCESS;
}

void haloscope_overlap_free(haloscope_overlap *overlap) { delete overlap; }

const char *haloscope_overlap_error() { return error_text.c_str(); }

int haloscope_overlap_run(haloscope_overlap *overlap, int phase, const haloscope_overlap_pattern *pattern,
                          haloscope_overlap_times *times) {
  if (phase_of(overlap, phase) == nullptr) return MPI_ERR_ARG;
  haloscope_overlap_times own{};
  const int result =
      haloscope::overlap::run(*overlap, overlap->phases[static_cast<std::size_t>(phase)], *pattern, own);
  if (result != MPI_SUCCESS) error_text = "overlap: MPI failed with code " + std::to_string(result);
  if (times != nullptr) *times = own;
  return result;
}

double haloscope_overlap_alpha(const haloscope_overlap *overlap, int phase) {
  const Phase *found = phase_of(overlap, phase);
  return found == nullptr ? NAN : found->alpha();
}

void haloscope_overlap_learn(haloscope_overlap *overlap, int phase, const haloscope_overlap_times *times) {
  if (phase_of(overlap, phase) != nullptr) overlap->phases[static_cast<std::size_t>(phase)].learn(*times);
}

size_t haloscope_overlap_split(size_t items, double alpha) { return haloscope::overlap::split(items, alpha); }

double haloscope_overlap_next_alpha(const haloscope_overlap_settings *settings, size_t items, double alpha,
                                    double input_wait, double output_wait) {
  const haloscope::overlap::Update update{settings->theta, settings->epsilon, settings->largest_step};
  return update(alpha, items, input_wait, output_wait);
}

size_t haloscope_overlap_chunk(size_t items, double budget, double poll_seconds, double item_seconds) {
  return haloscope::overlap::chunk(items, budget, poll_seconds, item_seconds);
}
}
