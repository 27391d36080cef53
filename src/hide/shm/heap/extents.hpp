// The owners of pages in a range: the bookkeeping of an arena, in memory that it is given. All functions take
// a bounded number of steps. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace haloscope::heap {

class Extents {
public:
  // Free ones of a state never touch each other: they are merged. `kept` have their pages, `clean` have none.
  enum State : std::uint32_t { none, used, kept, clean };
  struct Entry {
    std::uint32_t length : 30, state : 2; // of the extent that begins here
    std::uint32_t first;                  // of the extent that ends here
    std::uint32_t next, previous;         // free ones of about this length
  };
  static constexpr std::uint32_t longest = (1U << 30) - 1;

  // An entry a page, zero. `origin` is the number of the first page, which alignments refer to. Page 0 is
  // used.
  Extents(Entry *entries, std::uint32_t pages, std::uint64_t origin) noexcept;

  // The first page of `length` that were free in `state`, or 0; `alignment` in pages, a power of two.
  std::uint32_t take(State state, std::uint32_t length, std::uint64_t alignment) noexcept;
  // The last pages of the longest, at most `length`; 0 if there is none.
  std::uint32_t take_longest(State state, std::uint32_t length) noexcept;
  // The `length` pages that follow an extent, if they are free in `state`; 0 otherwise.
  std::uint32_t take_after(State wanted, std::uint32_t first, std::uint32_t length) noexcept;

  // A used extent is free now.
  void give(std::uint32_t first, State to) noexcept;
  // A used one becomes two.
  std::uint32_t split(std::uint32_t first, std::uint32_t length) noexcept;
  // A used one and the one behind it become one.
  void join(std::uint32_t first) noexcept;

  [[nodiscard]] std::uint32_t pages() const noexcept { return pages_; }
  [[nodiscard]] std::uint32_t length(std::uint32_t first) const noexcept { return entries_[first].length; }
  // None if no extent begins there.
  [[nodiscard]] State state(std::uint32_t first) const noexcept {
    return static_cast<State>(entries_[first].state);
  }

private:
  // Lengths below 8 have a bin each, and eight bins each power of two from there on.
  static constexpr std::size_t bins = 8 + (30 - 3) * 8;
  struct Bins {
    std::array<std::uint32_t, bins> head;
    std::array<std::uint64_t, (bins + 63) / 64> filled;
  };

  static std::size_t bin(std::uint32_t length) noexcept;
  static std::size_t next_filled(const Bins &of, std::size_t from) noexcept;
  [[nodiscard]] std::uint32_t aligned(std::uint32_t first, std::uint64_t alignment) const noexcept;
  Bins &of(State state) noexcept { return free_[state == clean]; }
  void set(std::uint32_t first, std::uint32_t length, State state) noexcept;
  void insert(std::uint32_t first, std::uint32_t length, State state) noexcept;
  void remove(std::uint32_t first) noexcept;
  // Cuts a part out of a free extent. The rest stays free.
  std::uint32_t cut(std::uint32_t first, std::uint32_t begin, std::uint32_t length) noexcept;

  Entry *entries_;
  std::uint32_t pages_;
  std::uint64_t origin_;
  std::array<Bins, 2> free_{};
};

} // namespace haloscope::heap
