// Following the links of records that another process may have written, may be writing, or may have spoilt.
#pragma once

#include "watch/records/arena.hpp"
#include "watch/records/index.hpp"
#include "watch/records/records.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace haloscope::watch {

class Reading {
public:
  explicit Reading(const Arena &arena) noexcept : arena_(arena) {}

protected:
  const Arena &arena() const noexcept { return arena_; }
  // The record that a link leads to; nullptr if there is none there.
  template <class T> const T *valid(const T *pointer) const noexcept { return valid(pointer, 1); }
  // The same for `count` consecutive records.
  template <class T> const T *valid(const T *pointer, std::size_t count) const noexcept {
    if (pointer == nullptr || reinterpret_cast<std::uintptr_t>(pointer) % alignof(T) != 0 ||
        count > arena_.capacity() / sizeof(T) || !arena_.contains(pointer, count * sizeof(T)) || links_ == 0)
      return nullptr;
    links_--;
    return pointer;
  }
  std::string_view text(const char *pointer) const noexcept {
    if (pointer == nullptr || !arena_.contains(pointer, 1)) return "?";
    const auto room = static_cast<std::size_t>(arena_.base() + arena_.capacity() -
                                               reinterpret_cast<const std::byte *>(pointer));
    return {pointer, strnlen(pointer, room)};
  }
  // The communicator of this number; nullptr if there is none.
  const Communicator *communicator(std::uint32_t number) const noexcept {
    const std::byte *place = arena_.base() + std::size_t{number} * communicator_alignment;
    return number == 0 ? nullptr : valid(reinterpret_cast<const Communicator *>(place));
  }
  // Takes a copy: a running program may replace the index meanwhile.
  template <class Record, class Visit> void each(const Index<Record> index, Visit &&visit) const {
    const std::size_t slots = std::size_t{index.mask} + 1;
    if (valid(index.slots, slots) != nullptr && visits(slots * sizeof(Record))) index.each(visit);
  }
  template <class Record, class Visit> void each(const ChunkList<Record> &list, Visit &&visit) const {
    for (const Chunk<Record> *chunk = valid(list.first); chunk != nullptr && visits(sizeof *chunk);
         chunk = valid(chunk->next))
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(chunk->count, Chunk<Record>::capacity); i++)
        visit(chunk->records[i]);
  }

  // Settles the estimate of a region up to the tick `latest`, in a copy: `more` is what that adds.
  struct Settled {
    Estimate estimate;
    EstimatedTicks more;
  };
  Settled settle(const Node &node, std::uint64_t latest) const noexcept {
    const std::uint64_t all = ticks_in(node, latest);
    std::uint64_t nested = 0;
    for (const Node *child = valid(node.first_child); child != nullptr && child->parent == &node;
         child = valid(child->next_sibling))
      nested += ticks_in(*child, latest);
    Settled settled{.estimate = node.estimate, .more = {}};
    settled.more = settled.estimate.settle(ticks_outside(node, all - std::min(all, nested)));
    return settled;
  }

private:
  // Whether the budget of `bytes_` allows to read this many bytes of a list.
  bool visits(std::size_t bytes) const noexcept {
    if (bytes > bytes_) return false;
    bytes_ -= bytes;
    return true;
  }

  const Arena &arena_;
  // A program that went wild may have written into its records: links must not lead round for ever. No two
  // links lead to one record, and none is smaller than this.
  mutable std::size_t links_ = arena_.used() / 16;
  // The items of lists are in the arena, and each is read once. A link to its own chunk would lead to more.
  mutable std::size_t bytes_ = arena_.used();
};

} // namespace haloscope::watch
