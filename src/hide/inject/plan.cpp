#include "hide/inject/plan.hpp"

#include <sstream>
#include <stdexcept>

namespace haloscope::inject {

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

} // namespace haloscope::inject
