// Memory that the ranks of a node share: a region per rank, which its rank fills and all can reach.
//
// The memory has no name that could be left behind, however a program ends. It is an anonymous file that the
// others open through /proc. If that is forbidden, it is a file in /dev/shm that loses its name before it is
// used.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace haloscope::halo {

class Segment {
public:
  // Collective over the ranks of a node, each with the size of its own region. Nothing on all of them where
  // one cannot have it. Regions are zero, aligned to `line`, and their pages are there: none is missing
  // later.
  static std::optional<Segment> make(MPI_Comm node, std::size_t bytes);

  Segment(Segment &&other) noexcept;
  Segment &operator=(Segment &&other) noexcept;
  Segment(const Segment &) = delete;
  Segment &operator=(const Segment &) = delete;
  ~Segment();

  [[nodiscard]] std::span<std::byte> region(int rank) const noexcept {
    const auto i = static_cast<std::size_t>(rank);
    return {base_ + offsets_[i], offsets_[i + 1] - offsets_[i]};
  }

private:
  Segment() = default;

  std::byte *base_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> offsets_; // a region each, and the end
};

// Pages of this process alone, zero, and large ones where the system has them.
bool has_shm_library() noexcept; // the shm library is loaded

// Pages of this process. Where the shm library is loaded, it may carry messages from them.
class Pages {
public:
  Pages() = default;
  explicit Pages(std::size_t bytes); // no data where there is no memory
  Pages(Pages &&other) noexcept;
  Pages &operator=(Pages &&other) noexcept;
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;
  ~Pages();

  [[nodiscard]] std::byte *data() const noexcept { return base_; }

private:
  std::byte *base_ = nullptr;
  std::size_t bytes_ = 0;
};

} // namespace haloscope::halo
