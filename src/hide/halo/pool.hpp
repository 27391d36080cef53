// A bounded part of a rank's region that is handed out piece by piece, by its owner alone, and never taken
// back before the end.
#pragma once

#include "hide/halo/memory.hpp"

#include <cstddef>
#include <new>
#include <span>

namespace haloscope::stencil {

class Pool {
public:
  Pool() = default;
  explicit Pool(std::span<std::byte> space) : space_(space) {}

  // Nothing when the pool has run out.
  std::byte *take(std::size_t bytes) noexcept {
    const std::size_t rounded = (bytes + line - 1) / line * line;
    if (rounded > space_.size() - taken_) return nullptr;
    std::byte *found = space_.data() + taken_;
    taken_ += rounded;
    return found;
  }

  // An object that starts from zeros, which the space holds.
  template <class T> T *make() noexcept {
    std::byte *found = take(sizeof(T));
    return found == nullptr ? nullptr : new (found) T;
  }

private:
  std::span<std::byte> space_;
  std::size_t taken_ = 0;
};

} // namespace haloscope::stencil
