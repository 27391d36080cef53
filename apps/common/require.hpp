// Checks of a command line once it is read: what does not hold is a UsageError.
#ifndef APPS_COMMON_REQUIRE_HPP
#define APPS_COMMON_REQUIRE_HPP

#include "options.hpp"

#include <algorithm>
#include <initializer_list>

namespace apps {

inline void require(bool condition, const std::string &message) {
  if (!condition) throw UsageError(message);
}

// An option whose value lies within bounds, ends included.
struct Bound {
  const char *name;
  int value, least, most;
};

inline void require_bounds(std::initializer_list<Bound> bounds) {
  for (const Bound &b : bounds)
    require(b.value >= b.least && b.value <= b.most,
            std::string(b.name) + " must be " +
                (b.least == b.most ? std::to_string(b.least)
                                   : "from " + std::to_string(b.least) + " to " + std::to_string(b.most)) +
                ", not " + std::to_string(b.value));
}

inline void require_one_of(const std::string &name, const std::string &value,
                           std::initializer_list<const char *> values) {
  std::string all;
  for (const char *each : values) all += all.empty() ? each : std::string(", ") + each;
  require(std::ranges::find(values, value) != values.end(),
          name + " is one of " + all + ", not '" + value + "'");
}

} // namespace apps

#endif
