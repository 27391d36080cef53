// Computation that stays in a core's first cache, in steps that take as long as is said.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "predict/pairs/rank.hpp"

namespace grid {

class Work {
public:
  // How long a unit takes: the median of some stretches, since a stretch may be interrupted.
  Work() {
    values_.fill(1.0);
    std::array<double, 9> times{};
    for (double &time : times) {
      const double begin = pairs::now();
      for (int unit = 0; unit < probe; unit++) once();
      time = (pairs::now() - begin) / probe;
    }
    std::ranges::sort(times);
    unit_ = times[times.size() / 2];
  }

  [[nodiscard]] std::int64_t units(double seconds) const {
    return std::max<std::int64_t>(std::llround(seconds / unit_), 1);
  }

  // Computes `units`. `between` is called after every `step` of them (0: never).
  template <class Call> void operator()(std::int64_t units, std::int64_t step, const Call &between) {
    std::int64_t left = step;
    for (std::int64_t unit = 0; unit < units; unit++) {
      once();
      if (--left == 0) {
        between();
        left = step;
      }
    }
  }

private:
  static constexpr int probe = 2000;

  // Never inlined: with calls between the units, and without, a unit is the same instructions.
  [[gnu::noinline]] void once() {
    for (double &value : values_) value = value * 0.999 + 0.001;
    asm volatile("" : : "r"(values_.data()) : "memory"); // it is used, as far as the compiler knows
  }

  std::array<double, 256> values_{};
  double unit_ = 1e-6;
};

} // namespace grid
