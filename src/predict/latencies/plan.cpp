#include "predict/latencies/plan.hpp"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace haloscope::latencies {

namespace {

// Independent random streams for any numbers (splitmix64).
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

double interpolate(const std::vector<double> &quantiles, double place) noexcept {
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
      value = interpolate(quantiles, std::uniform_real_distribution<double>{}(random));
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

namespace {

constexpr std::size_t most = 1U << 20U; // of anything

class Words {
public:
  explicit Words(const std::string &text) : stream_(text) {}

  bool next(std::string &word) { return static_cast<bool>(stream_ >> word); }
  template <class T> T number() {
    std::string word;
    T value{};
    if (!next(word)) throw std::runtime_error("the text ends early");
    std::istringstream digits{word};
    digits.imbue(std::locale::classic()); // the program may have chosen another
    if (!(digits >> value) || !digits.eof()) throw std::runtime_error("not a number: " + word);
    return value;
  }
  std::vector<double> numbers(std::size_t count) {
    if (count > most) throw std::runtime_error("too many: " + std::to_string(count));
    std::vector<double> result(count);
    for (double &value : result) value = number<double>();
    return result;
  }
  double positive() { // or 0
    const auto value = number<double>();
    if (value < 0) throw std::runtime_error("less than 0: " + std::to_string(value));
    return value;
  }
  std::size_t count() {
    const auto value = number<std::size_t>();
    if (value > most) throw std::runtime_error("too many: " + std::to_string(value));
    return value;
  }

private:
  std::istringstream stream_;
};

Distribution distribution(Words &words) {
  using Kind = Distribution::Kind;
  std::string name;
  words.next(name);
  Distribution result;
  bool makes_sense = true;
  if (name == "constant") {
    result = {Kind::constant, words.number<double>()};
  } else if (name == "normal" || name == "lognormal") { // mean, deviation; of the logarithm
    const auto numbers = words.numbers(2);
    result = {name == "normal" ? Kind::normal : Kind::lognormal, numbers[0], numbers[1]};
    makes_sense = numbers[1] >= 0;
  } else if (name == "gamma" || name == "student") { // shape, scale, shift; location, scale, degrees
    const auto numbers = words.numbers(3);
    result = {name == "gamma" ? Kind::gamma : Kind::student, numbers[0], numbers[1], numbers[2]};
    makes_sense = name == "gamma" ? numbers[0] > 0 && numbers[1] > 0 : numbers[1] >= 0 && numbers[2] > 0;
  } else if (name == "empirical") {
    result.kind = Kind::empirical;
    result.quantiles = words.numbers(words.count());
    if (result.quantiles.empty()) throw std::runtime_error("empirical without values");
  } else {
    throw std::runtime_error("no distribution of that name: " + name);
  }
  if (!makes_sense) throw std::runtime_error("parameters that no distribution has: " + name);
  return result;
}

// scale, excess, K distributions, start; M, start, transition, M matrices.
Model model(Words &words) {
  Model result;
  result.scale = words.positive();
  result.excess = words.positive();
  const std::size_t regimes = words.count();
  if (regimes == 0) throw std::runtime_error("a model without regimes");
  for (std::size_t i = 0; i < regimes; i++) result.regimes.push_back(distribution(words));
  result.start = words.numbers(regimes);
  const std::size_t states = words.count();
  if (states == 0) throw std::runtime_error("a model without machine states");
  result.machine_start = words.numbers(states);
  result.machine_transition = words.numbers(states * states);
  for (std::size_t i = 0; i < states; i++) result.transitions.push_back(words.numbers(regimes * regimes));
  return result;
}

Event event(Words &words) {
  Event result;
  result.rank = words.number<int>();
  result.first = words.number<std::uint64_t>();
  result.count = words.number<std::uint64_t>();
  result.seconds = words.positive();
  return result;
}

} // namespace

Plan parse(const std::string &text) {
  Words words{text};
  Plan plan;
  for (std::string word; words.next(word);) {
    if (word == "seed")
      plan.seed = words.number<std::uint64_t>();
    else if (word == "every_messages")
      plan.every_messages = std::max<std::uint64_t>(1, words.number<std::uint64_t>());
    else if (word == "every_seconds")
      plan.every_seconds = words.number<double>();
    else if (word == "collectives")
      plan.collectives = words.number<int>() != 0;
    else if (word == "intra" || word == "inter")
      plan.links[word == "inter" ? 1 : 0] = model(words);
    else if (word == "once")
      plan.events.push_back(event(words));
    else
      throw std::runtime_error("no such word: " + word);
  }
  return plan;
}

} // namespace haloscope::latencies
