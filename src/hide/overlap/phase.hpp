// What is learnt of one phase: its α, or one for each regime, and what polls and items take.
#pragma once

#include "hide/overlap/alpha.hpp"
#include "hide/overlap/regimes.hpp"

namespace haloscope::overlap {

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

  [[nodiscard]] std::size_t chunk() const noexcept {
    if (settings_->policy == HALOSCOPE_OVERLAP_ADAPTIVE && item_ > 0)
      return overlap::chunk(items_, settings_->budget, poll_, item_);
    return settings_->chunk != 0 ? settings_->chunk : std::max<std::size_t>(1, items_ / 64);
  }
  static void measured(double &mean, double value) noexcept {
    constexpr double weight = 0.05; // of what is new
    mean = mean > 0 ? (1 - weight) * mean + weight * std::min(value, 4 * mean) : value;
  }
  void polled(double seconds) noexcept { measured(poll_, seconds); }
  void worked(std::size_t items, double seconds) noexcept {
    if (items > 0) measured(item_, seconds / static_cast<double>(items));
  }

private:
  // The first part stands before the wait for the input; where that is consistent, for what is gathered.
  [[nodiscard]] double first_wait(const haloscope_overlap_times &times) const noexcept {
    return settings_->consistent != 0 ? times.output_wait : times.input_wait;
  }
  [[nodiscard]] double second_wait(const haloscope_overlap_times &times) const noexcept {
    return settings_->consistent != 0 ? times.input_wait : times.output_wait;
  }

  // Each regime learns by how probable it was, before the run, which was split for it, and after: one that
  // came as a surprise met another one's α, of which it has nothing to learn.
  void learn_regimes(const Update &update, const haloscope_overlap_times &times) noexcept {
    filter_.see(times, settings_->epsilon);
    for (std::size_t i = 0; i < alphas_.size(); i++) {
      const double learnt = update(alphas_[i], items_, first_wait(times), second_wait(times));
      alphas_[i] += filter_.before()[i] * filter_.last()[i] * (bounded(learnt, items_) - alphas_[i]);
    }
    alpha_ = bounded(median(), items_);
  }
  // Of the regimes' α, by what is probable next. Waiting grows as an α is off, so the median costs the least.
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
};

} // namespace haloscope::overlap
