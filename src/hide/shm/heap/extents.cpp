#include "hide/shm/heap/extents.hpp"

#include <bit>

namespace haloscope::heap {

Extents::Extents(Entry *entries, std::uint32_t pages, std::uint64_t origin) noexcept
    : entries_(entries), pages_(pages), origin_(origin) {
  set(0, 1, used);
  insert(1, pages - 1, clean);
}

std::size_t Extents::bin(std::uint32_t length) noexcept {
  if (length < 8) return length;
  const auto power = static_cast<std::size_t>(std::bit_width(length)) - 1;
  return 8 * (power - 2) + (length >> (power - 3)) % 8;
}

std::size_t Extents::next_filled(const Bins &of, std::size_t from) noexcept {
  if (from >= bins) return bins;
  std::size_t word = from / 64;
  std::uint64_t left = of.filled[word] & (~std::uint64_t{0} << from % 64);
  while (left == 0)
    if (++word == of.filled.size())
      return bins;
    else
      left = of.filled[word];
  return 64 * word + static_cast<std::size_t>(std::countr_zero(left));
}

std::uint32_t Extents::aligned(std::uint32_t first, std::uint64_t alignment) const noexcept {
  const std::uint64_t number = origin_ + first;
  return first + static_cast<std::uint32_t>((number + alignment - 1) / alignment * alignment - number);
}

void Extents::set(std::uint32_t first, std::uint32_t length, State state) noexcept {
  entries_[first].length = length;
  entries_[first].state = state;
  entries_[first + length - 1].first = first;
}

void Extents::insert(std::uint32_t first, std::uint32_t length, State state) noexcept {
  set(first, length, state);
  const std::size_t i = bin(length);
  Bins &into = of(state);
  const std::uint32_t next = into.head[i];
  entries_[first].next = next;
  entries_[first].previous = 0;
  if (next != 0) entries_[next].previous = first;
  into.head[i] = first;
  into.filled[i / 64] |= std::uint64_t{1} << i % 64;
}

void Extents::remove(std::uint32_t first) noexcept {
  const Entry entry = entries_[first];
  const std::size_t i = bin(entry.length);
  Bins &from = of(static_cast<State>(entry.state));
  if (entry.next != 0) entries_[entry.next].previous = entry.previous;
  if (entry.previous != 0)
    entries_[entry.previous].next = entry.next;
  else
    from.head[i] = entry.next;
  if (from.head[i] == 0) from.filled[i / 64] &= ~(std::uint64_t{1} << i % 64);
  entries_[first].state = none;
}

std::uint32_t Extents::cut(std::uint32_t first, std::uint32_t begin, std::uint32_t length) noexcept {
  const State left = state(first);
  const std::uint32_t end = first + entries_[first].length;
  remove(first);
  if (begin > first) insert(first, begin - first, left);
  if (end > begin + length) insert(begin + length, end - begin - length, left);
  set(begin, length, used);
  return begin;
}

std::uint32_t Extents::take(State state, std::uint32_t length, std::uint64_t alignment) noexcept {
  // In the bins where not all fit, a few are looked at: mostly there is one of just this length.
  constexpr int looks = 8;
  if (alignment > longest) return 0;
  const Bins &from = of(state);
  for (std::size_t i = next_filled(from, bin(length)); i < bins; i = next_filled(from, i + 1)) {
    std::uint32_t first = from.head[i];
    for (int look = 0; first != 0 && look < looks; ++look, first = entries_[first].next) {
      const std::uint64_t begin = aligned(first, alignment);
      if (begin + length <= first + entries_[first].length)
        return cut(first, static_cast<std::uint32_t>(begin), length);
    }
  }
  return 0;
}

std::uint32_t Extents::take_longest(State state, std::uint32_t length) noexcept {
  const Bins &from = of(state);
  for (std::size_t word = from.filled.size(); word-- > 0;)
    if (from.filled[word] != 0) {
      const std::size_t i = 64 * word + static_cast<std::size_t>(std::bit_width(from.filled[word])) - 1;
      const std::uint32_t first = from.head[i], all = entries_[first].length;
      return all <= length ? cut(first, first, all) : cut(first, first + all - length, length);
    }
  return 0;
}

std::uint32_t Extents::take_after(State wanted, std::uint32_t first, std::uint32_t length) noexcept {
  const std::uint32_t next = first + entries_[first].length;
  if (next >= pages_ || state(next) != wanted || entries_[next].length < length) return 0;
  return cut(next, next, length);
}

void Extents::give(std::uint32_t first, State to) noexcept {
  std::uint32_t length = entries_[first].length;
  const std::uint32_t next = first + length;
  if (next < pages_ && state(next) == to) {
    length += entries_[next].length;
    remove(next);
  }
  const std::uint32_t before = entries_[first - 1].first; // there is one: page 0 is never free
  if (state(before) == to) {
    remove(before);
    entries_[first].state = none;
    length += first - before;
    first = before;
  }
  insert(first, length, to);
}

std::uint32_t Extents::split(std::uint32_t first, std::uint32_t length) noexcept {
  const std::uint32_t all = entries_[first].length;
  set(first, length, used);
  set(first + length, all - length, used);
  return first + length;
}

void Extents::join(std::uint32_t first) noexcept {
  const std::uint32_t next = first + entries_[first].length;
  entries_[next].state = none;
  set(first, next - first + entries_[next].length, used);
}

} // namespace haloscope::heap
