// The distance of ranks on a node: on the same NUMA node, then in the same socket, then all others.
#pragma once

#include "hide/halo/queues.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <sched.h>
#include <string>
#include <vector>

namespace haloscope::shm {

// The location of a rank. −1: several, or unknown.
struct Locality {
  std::int32_t socket = -1, numa = -1;
};

// The location of processors, from the kernel's files, which hwloc also reads.
Locality locality_of(const cpu_set_t &processors,
                     const std::string &directory = "/sys/devices/system/cpu/cpu");
// The location of this thread's processors.
Locality own_locality();

class Nearness {
public:
  Nearness() = default;
  Nearness(const std::vector<Locality> &ranks, std::size_t me);

  // Calls `visit` with each rank that is in the mask, but for ourselves, the nearest first, until it returns
  // true; returns whether it did.
  template <class Mask, class Visit> bool visit(const Mask &mask, Visit &&visit) const {
    for (const auto &level : levels_)
      for (std::size_t i = 0; i < level.size(); i++)
        for (std::uint64_t left = level[i] & mask.word(i); left != 0; left &= left - 1)
          if (visit(i * 64 + static_cast<std::size_t>(std::countr_zero(left)))) return true;
    return false;
  }

private:
  // A bit for each rank, in one of them.
  std::array<std::vector<std::uint64_t>, 3> levels_;
};

} // namespace haloscope::shm
