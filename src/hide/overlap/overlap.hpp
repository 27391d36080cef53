// The object behind the C interface, with the learnt splitting parameter α of each phase.
#pragma once

#include "hide/overlap/regimes.hpp"

#include <haloscope/overlap.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace haloscope::overlap {

// The splitting parameter α and values derived from it, as pure functions.
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

  // Algorithm 3 of Heldman, Rudi and Bessac (ICS 2025). The printed algorithm does not have the second case.
  // According to its text, that mirrors the first: r · ε/T_out.
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

// The learnt values of one phase: its α, or one per regime, and the costs of polls and items.
class Phase {
public:
  Phase(const haloscope_overlap_settings &settings, std::size_t items)
      : settings_(&settings), items_(items), alpha_(settings.alpha) {
    if (settings.policy != HALOSCOPE_OVERLAP_FIXED) alpha_ = bounded(alpha_, items);
    if (settings.policy != HALOSCOPE_OVERLAP_REGIMES) return;
    filter_ = Filter{*settings.regimes};
    alphas_.assign(filter_.count(), alpha_);
  }

  [[nodiscard]] double alpha() const noexcept { return alpha_; }

  void learn(const haloscope_overlap_times &times) noexcept {
    const Update update{settings_->theta, settings_->epsilon, settings_->largest_step};
    if (settings_->policy == HALOSCOPE_OVERLAP_DYNAMIC)
      alpha_ = update(alpha_, items_, first_wait(times), second_wait(times));
    else if (settings_->policy == HALOSCOPE_OVERLAP_REGIMES)
      learn_regimes(update, times);
    else if (settings_->policy != HALOSCOPE_OVERLAP_FIXED)
      alpha_ = times.alpha; // as it came out
  }

  // With `partners`, before a run with this many receives in the second exchange. Only the first call
  // allocates.
  void expect(int receives) {
    waited_.resize(static_cast<std::size_t>(receives));
    completed_.resize(waited_.size());
    partner_wait_ = 0;
  }
  [[nodiscard]] std::span<int> completed() noexcept { return completed_; } // room for MPI_Waitsome
  void not_waited() noexcept { std::ranges::fill(waited_, 0.0); }
  void waited(int receive, double seconds) noexcept { waited_[static_cast<std::size_t>(receive)] = seconds; }
  [[nodiscard]] double waited(int receive) const noexcept {
    const auto at = static_cast<std::size_t>(receive);
    return receive >= 0 && at < waited_.size() ? waited_[at] : 0;
  }
  void partner_waited(double seconds) noexcept { partner_wait_ = std::max(partner_wait_, seconds); }
  [[nodiscard]] double partner_wait() const noexcept { return partner_wait_; }

  [[nodiscard]] std::size_t chunk() const noexcept {
    if (settings_->policy == HALOSCOPE_OVERLAP_ADAPTIVE && item_ > 0)
      return overlap::chunk(items_, settings_->budget, poll_, item_);
    return settings_->chunk != 0 ? settings_->chunk : std::max<std::size_t>(1, items_ / 64);
  }
  static void measured(double &mean, double value) noexcept {
    constexpr double weight = 0.05; // of what is new
    mean = mean > 0 ? (1 - weight) * mean + weight * std::min(value, 4 * mean) : value;
  }
  // The seconds of a poll that found nothing: the others copy messages. The price is a low quantile, followed
  // in small steps, because what interrupts a poll is not its price. It is at most twice what the last poll
  // took: an interrupted first poll would otherwise count for hundreds of polls.
  void polled(double seconds) noexcept {
    constexpr double share = 0.25, step = 0.1, most = 2;
    const double factor = seconds < poll_ ? 1 - step * (1 - share) : 1 + step * share;
    poll_ = poll_ > 0 ? poll_ * factor : seconds;
    if (seconds > 0) poll_ = std::min(poll_, most * seconds); // a coarse clock may count 0
  }
  void worked(std::size_t items, double seconds) noexcept {
    if (items > 0) measured(item_, seconds / static_cast<double>(items));
  }

private:
  // The first part of the work is before the wait for the input, or with `consistent` before the wait for the
  // gathered values.
  [[nodiscard]] double first_wait(const haloscope_overlap_times &times) const noexcept {
    return settings_->consistent != 0 ? times.output_wait : times.input_wait;
  }
  // The second exchange may be late for its receiver, which may be a different rank.
  [[nodiscard]] double second_wait(const haloscope_overlap_times &times) const noexcept {
    return std::max(settings_->consistent != 0 ? times.input_wait : times.output_wait, times.partner_wait);
  }

  // Each regime learns with the product of two probabilities: the one before the run, for which the work was
  // split, and the one after the run. An unexpected regime learns little, because the run used a different α.
  void learn_regimes(const Update &update, const haloscope_overlap_times &times) noexcept {
    filter_.see(times, settings_->epsilon);
    for (std::size_t i = 0; i < alphas_.size(); i++) {
      const double learnt = update(alphas_[i], items_, first_wait(times), second_wait(times));
      alphas_[i] += filter_.before()[i] * filter_.last()[i] * (bounded(learnt, items_) - alphas_[i]);
    }
    alpha_ = bounded(median(), items_);
  }
  // The median of the regimes' α, weighted by the probabilities of the next run. Waiting grows with the error
  // of α, so the median costs the least.
  [[nodiscard]] double median() const noexcept {
    double found = 1;
    for (const double candidate : alphas_) {
      double at_most = 0;
      for (std::size_t i = 0; i < alphas_.size(); i++)
        if (alphas_[i] <= candidate) at_most += filter_.next()[i];
      if (at_most >= 0.5) found = std::min(found, candidate);
    }
    return found;
  }

  const haloscope_overlap_settings *settings_;
  std::size_t items_;
  double alpha_;
  double poll_ = 0, item_ = 0; // seconds
  Filter filter_;
  std::vector<double> alphas_;
  std::vector<double> waited_; // for each receive of the second exchange, in the last run
  std::vector<int> completed_;
  double partner_wait_ = 0;
};

} // namespace haloscope::overlap

// The object behind the C interface.

// Phases point to the settings: it is neither copied nor moved.
struct haloscope_overlap {
  haloscope_overlap_settings settings;
  std::size_t items;
  std::vector<haloscope::overlap::Phase> phases;
};

namespace haloscope::overlap {

int run(haloscope_overlap &overlap, Phase &phase, const haloscope_overlap_pattern &pattern,
        haloscope_overlap_times &times);

// Empty if the settings make sense.
std::string wrong(const haloscope_overlap_settings &settings);

} // namespace haloscope::overlap
