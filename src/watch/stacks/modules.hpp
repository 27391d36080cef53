// The files of code that a process has loaded.
#pragma once

#include "watch/records/arena.hpp"
#include "watch/stacks/sites.hpp"

#include <cstdint>
#include <vector>

namespace haloscope::watch {

// Addresses of one piece of code.
struct Extent {
  std::uintptr_t begin, end;
  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return begin <= address && address < end;
  }
};
// Nothing where there is none.
Extent extent_around(std::uintptr_t address) noexcept;

class Modules {
public:
  // The module at an address, described in the arena; nullptr if unknown.
  const Module *find(std::uintptr_t address, Arena &arena);
  // Whether it is in this library.
  [[nodiscard]] static bool is_own(std::uintptr_t address) noexcept;
  // Whether a library was loaded or unloaded since the last call. If so, all modules are looked up again.
  bool have_changed() noexcept;
  // How often the program has had something unloaded: what lies at its addresses later is something else.
  static std::uint32_t unloadings() noexcept;

private:
  struct Known {
    Extent extent;
    const Module *module;
  };
  std::vector<Known> known_;
  std::uint64_t changes_ = 0;
};

} // namespace haloscope::watch
