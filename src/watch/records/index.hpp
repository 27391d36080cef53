// An open-addressed hash table in the arena that only grows. One thread writes it. A process that reads it
// after a crash may find it half grown. Then it sees the old records or some of the new ones, never foreign
// memory. Record: zero-initialised, with `Key key` whose zero value means empty.
#pragma once

#include "watch/records/arena.hpp"

#include <atomic>
#include <cstdint>

namespace haloscope::watch {

inline std::uint64_t hash_of(std::uint64_t key) noexcept {
  key *= 0x9E37'79B9'7F4A'7C15U;
  return key ^ (key >> 32U);
}

template <class Record> struct Index {
  using Key = decltype(Record::key);

  Record *slots;
  std::uint32_t mask;
  std::uint32_t count;

  // The record of `key`, or nullptr. Steady state: one probe, no call.
  [[nodiscard, gnu::always_inline]] Record *find(const Key &key) const noexcept {
    if (slots == nullptr) return nullptr;
    for (auto i = static_cast<std::uint32_t>(hash_of(key)) & mask;; i = (i + 1) & mask) {
      if (slots[i].key == key) return &slots[i];
      if (slots[i].key == Key{}) return nullptr;
    }
  }

  // The record of `key`, made if there is none; nullptr when the arena is full.
  [[nodiscard]] Record *find_or_make(const Key &key, Arena &arena) noexcept {
    if (Record *record = find(key)) return record;
    return insert(key, arena);
  }

  template <class Visit> void each(Visit &&visit) const {
    if (slots == nullptr) return;
    for (std::uint32_t i = 0; i <= mask; i++)
      if (!(slots[i].key == Key{})) visit(slots[i]);
  }

private:
  [[gnu::noinline]] Record *insert(const Key &key, Arena &arena) noexcept {
    if ((slots == nullptr || (count + 1) * 4 > (mask + 1) * 3) && !grow(arena)) return nullptr;
    Record *record = place(slots, mask, key);
    record->key = key;
    count++;
    return record;
  }

  static Record *place(Record *slots, std::uint32_t mask, const Key &key) noexcept {
    auto i = static_cast<std::uint32_t>(hash_of(key)) & mask;
    while (!(slots[i].key == Key{})) i = (i + 1) & mask;
    return &slots[i];
  }

  bool grow(Arena &arena) noexcept {
    const std::uint32_t capacity = slots == nullptr ? 8 : (mask + 1) * 2;
    Record *previous = slots;
    auto *larger = arena.make<Record>(capacity);
    if (larger == nullptr) return false;
    each([&](const Record &record) { *place(larger, capacity - 1, record.key) = record; });
    // A reader after a crash must never see the larger mask with the smaller table.
    std::atomic_signal_fence(std::memory_order_release);
    slots = larger;
    std::atomic_signal_fence(std::memory_order_release);
    const std::size_t old = previous == nullptr ? 0 : std::size_t{mask} + 1;
    mask = capacity - 1;
    std::atomic_signal_fence(std::memory_order_release);
    for (std::size_t i = 0; i < old; i++) previous[i].key = Key{};
    return true;
  }
};

} // namespace haloscope::watch
