// What is to be injected, as `haloscope inject` writes it into HALOSCOPE_INJECT: words with spaces between.
#pragma once

#include "hide/inject/latencies.hpp"

#include <string>
#include <vector>

namespace haloscope::inject {

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

  // Whether messages over such a link carry a stamp; both ends must think alike.
  [[nodiscard]] bool stamps(Link link) const noexcept {
    return !links[static_cast<int>(link)].is_none() || !events.empty();
  }
  [[nodiscard]] bool is_idle() const noexcept { return !stamps(Link::intra) && !stamps(Link::inter); }
};

// Throws std::runtime_error with the word that makes no sense.
Plan parse(const std::string &text);

} // namespace haloscope::inject
