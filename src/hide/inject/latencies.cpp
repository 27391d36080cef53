#include "hide/inject/latencies.hpp"

#include <algorithm>
#include <cmath>

namespace haloscope::inject {

namespace {

// Streams that have nothing to do with each other, whatever numbers tell them apart (splitmix64).
std::uint64_t mixed(std::uint64_t value) noexcept {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ value >> 30U) * 0xBF58476D1CE4E5B9U;
  value = (value ^ value >> 27U) * 0x94D049BB133111EBU;
  return value ^ value >> 31U;
}
Random stream(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return Random{mixed(mixed(mixed(mixed(seed) + a) + b) + c)};
}

std::size_t pick(const double *weights, std::size_t count, Random &random) {
  double left = std::uniform_real_distribution<double>{}(random);
  for (std::size_t i = 0; i + 1 < count; i++) {
    left -= weights[i];
    if (left < 0) return i;
  }
  return count - 1;
}

double between(const std::vector<double> &quantiles, double place) noexcept {
  const double exact = place * static_cast<double>(quantiles.size() - 1);
  const auto below = static_cast<std::size_t>(exact);
  const std::size_t above = std::min(below + 1, quantiles.size() - 1);
  return std::lerp(quantiles[below], quantiles[above], exact - static_cast<double>(below));
}

} // namespace

double Distribution::draw(Random &random) const {
  constexpr int tries = 1000; // of a distribution that is negative now and then
  for (int i = 0; i < tries; i++) {
    double value = a;
    switch (kind) {
    case Kind::constant:
      break;
    case Kind::normal:
      value = std::normal_distribution{a, b}(random);
      break;
    case Kind::lognormal:
      value = std::lognormal_distribution{a, b}(random);
      break;
    case Kind::gamma:
      value = c + std::gamma_distribution{a, b}(random);
      break;
    case Kind::student:
      value = a + b * std::student_t_distribution{c}(random);
      break;
    case Kind::empirical:
      value = between(quantiles, std::uniform_real_distribution<double>{}(random));
      break;
    }
    if (value >= 0) return value;
  }
  return 0;
}

Source::Source(const Model &model, std::uint64_t seed, std::uint64_t rank, std::uint64_t link)
    : model_(&model), durations_(stream(seed, rank, link, 1)), chain_(stream(seed, rank, link, 2)),
      machines_(stream(seed, 0, link, 3)) {
  if (model.is_none()) return;
  machine_ = pick(model.machine_start.data(), model.machine_start.size(), machines_);
  regime_ = pick(model.start.data(), model.start.size(), chain_);
}

void Source::advance(std::uint64_t instance) {
  const std::size_t regimes = model_->regimes.size(), states = model_->machine_start.size();
  if (regimes * states <= 1) return;
  for (; instance_ < instance; instance_++) {
    machine_ = pick(model_->machine_transition.data() + machine_ * states, states, machines_);
    regime_ = pick(model_->transitions[machine_].data() + regime_ * regimes, regimes, chain_);
  }
}

double Source::draw() {
  if (model_->is_none()) return 0;
  const double drawn = model_->regimes[regime_].draw(durations_);
  return model_->scale * std::max(0.0, drawn - model_->excess);
}

} // namespace haloscope::inject
