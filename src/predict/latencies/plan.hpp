// The plan that `haloscope inject` writes into HALOSCOPE_INJECT as words separated by spaces, and the
// latencies that are drawn from its models.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace haloscope::latencies {

using Random = std::mt19937_64;

// A model is a hidden Markov chain of regimes, each with its own distribution. A plain distribution is a
// chain of one regime.
struct Distribution {
  enum class Kind : std::uint8_t { constant, normal, lognormal, gamma, student, empirical };

  Kind kind = Kind::constant;
  double a = 0, b = 0, c = 0;    // see plan.cpp
  std::vector<double> quantiles; // of an empirical one, sorted

  // Seconds, not negative.
  double draw(Random &random) const;
};

// All ranks have the same model and, by the seed, the same chain of machine states.
struct Model {
  std::vector<Distribution> regimes;
  std::vector<double> start;                    // of the first regime
  std::vector<std::vector<double>> transitions; // a matrix for each machine state
  std::vector<double> machine_start{1}, machine_transition{1};
  double scale = 1;
  double excess = 0; // what is taken off each draw, not below 0

  [[nodiscard]] bool is_none() const noexcept { return regimes.empty(); }
};

// A rank's way through a model. The regimes depend on the seed and the instance alone, not on how many
// latencies were drawn.
class Source {
public:
  Source(const Model &model, std::uint64_t seed, std::uint64_t rank, std::uint64_t link);

  // Goes on to an instance; never back.
  void advance(std::uint64_t instance);
  double draw();
  [[nodiscard]] int regime() const noexcept { return static_cast<int>(regime_); }
  [[nodiscard]] int machine_state() const noexcept { return static_cast<int>(machine_); }

private:
  const Model *model_;
  Random durations_, chain_, machines_;
  std::uint64_t instance_ = 0;
  std::size_t regime_ = 0, machine_ = 0;
};

enum class Link : std::uint8_t { intra, inter };

// A delay that happens once: the messages `first` … `first + count - 1` that `rank` sends come later.
struct Event {
  int rank = 0;
  std::uint64_t first = 0, count = 1;
  double seconds = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  std::uint64_t every_messages = 1; // an instance of the model, where every_seconds is 0
  double every_seconds = 0;
  bool collectives = true;
  Model links[2];
  std::vector<Event> events;

  // Whether messages over such a link carry a stamp; both ends must decide alike.
  [[nodiscard]] bool stamps(Link link) const noexcept {
    return !links[static_cast<int>(link)].is_none() || !events.empty();
  }
  [[nodiscard]] bool is_idle() const noexcept { return !stamps(Link::intra) && !stamps(Link::inter); }
};

// Throws std::runtime_error with the word that makes no sense.
Plan parse(const std::string &text);

} // namespace haloscope::latencies
