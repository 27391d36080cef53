// Counts of calls and messages in one region. Times are ticks (clock.hpp).
#pragma once

#include "watch/records/estimate.hpp"
#include "watch/records/functions.hpp"
#include "watch/records/index.hpp"
#include "watch/records/memory_kind.hpp"
#include "watch/records/schema.hpp"

#include <array>
#include <cstdint>

namespace haloscope::watch {

// The quantities of Table I of "Leveraging Caliper and Benchpark": they have a minimum and a maximum
// over the instances of a region. The first five add up; the last two count distinct ranks.
enum Quantity : unsigned { sends, recvs, bytes_sent, bytes_recv, colls, dest_ranks, src_ranks };
inline constexpr unsigned additive_quantities = 5;
inline constexpr unsigned quantities = 7;
using Quantities = std::array<std::uint64_t, quantities>;

struct Extremes {
  Quantities least;
  Quantities most;
};

enum class Kind : std::uint8_t { none, p2p, coll, rma };

// One MPI function in one region.
struct CallRecord {
  std::uint64_t calls, bytes, ticks, longest;
};
inline constexpr unsigned calls_per_page = 16;
inline constexpr unsigned call_pages = (function_count + calls_per_page - 1) / calls_per_page;
// `estimated`: ticks of the calls that were not stamped, see Estimate. Only samples change them.
struct CallPage {
  std::array<CallRecord, calls_per_page> records;
  std::array<EstimatedTicks, calls_per_page> estimated;
};

// Messages of one exact size. Key: bytes, memory and kind, see size_key.
struct SizeRecord {
  std::uint64_t key, messages, ticks;
};
inline constexpr unsigned kind_bits = 2;
inline constexpr std::uint64_t size_range = 1ULL << 63U; // the key is of a range of sizes
inline std::uint64_t size_key(Kind kind, Memory memory, std::uint64_t bytes) noexcept {
  return bytes << (kind_bits + memory_bits) | number_of(memory) << kind_bits |
         static_cast<std::uint64_t>(kind);
}
inline Kind kind_of_size(std::uint64_t key) noexcept {
  return static_cast<Kind>(key & ((1U << kind_bits) - 1));
}
inline Memory memory_of_size(std::uint64_t key) noexcept {
  return memory_of_number(key >> kind_bits & ((1U << memory_bits) - 1));
}
inline std::uint64_t bytes_of_size(std::uint64_t key) noexcept {
  return (key & ~size_range) >> (kind_bits + memory_bits);
}
// Beyond this many distinct sizes in a region, new ones are put together by powers of two.
inline constexpr std::uint32_t exact_sizes = 4096;

// Messages of one size between two ranks. Negative: taken back.
inline void add_sends(Traffic &to, std::int64_t messages, std::uint64_t bytes) noexcept {
  const auto number = static_cast<std::uint64_t>(messages);
  to.sends += number;
  to.bytes_sent += number * bytes;
}
inline void add_receives(Traffic &to, std::int64_t messages, std::uint64_t bytes) noexcept {
  const auto number = static_cast<std::uint64_t>(messages);
  to.recvs += number;
  to.bytes_recv += number * bytes;
}
struct Node;
// Messages between two ranks in one region. `neighbor`: by neighbourhood collectives, which count as p2p
// neither in numbers nor in distinct ranks. `*_seen`: the instance that has counted it as a distinct rank.
// `parent`: the same partner in the enclosing region.
struct Partner {
  std::int32_t rank;
  Node *node; // the region
  Traffic p2p;
  std::uint64_t ticks;
  Traffic neighbor;
  std::uint64_t dest_seen, dest_seen_nested, src_seen, src_seen_nested;
  Partner *parent, *next;
};
// A partner's rank in a communicator. Several such names may lead to one partner.
struct PartnerName {
  std::uint64_t key; // partner_key
  Partner *partner;
};
inline std::uint64_t partner_key(std::uint32_t communicator, int rank) noexcept {
  return (static_cast<std::uint64_t>(communicator + 1U) << 32U) | static_cast<std::uint32_t>(rank);
}

// Messages of one size, with one rank through one communicator, started by one function. In the steady state
// a message changes only one of these and the sums of the current instance. The collection adds them to the
// partners, sizes, calls and communicators.
struct MessageKey {
  std::uint64_t channel; // the communicator's number, and the rank as it calls it
  std::uint64_t what;    // bytes, memory, and a Message
  bool operator==(const MessageKey &) const = default;
};
// How a message came to be counted: received (by a call that sent as well: exchanged), sent by
// MPI_Start, or, from `sent` on, by the function of this number.
enum Message : std::uint64_t { arrived = 1, exchanged, started_again, sent };
inline constexpr unsigned message_bits = 10;
static_assert(function_count + sent < 1U << message_bits);
inline std::uint64_t what_of(std::uint64_t bytes, Memory memory, std::uint64_t message) noexcept {
  return bytes << (memory_bits + message_bits) | number_of(memory) << message_bits | message;
}
inline std::uint64_t message_of_what(std::uint64_t what) noexcept {
  return what & ((1U << message_bits) - 1);
}
inline Memory memory_of_what(std::uint64_t what) noexcept {
  return memory_of_number(what >> message_bits & ((1U << memory_bits) - 1));
}
inline std::uint64_t bytes_of_what(std::uint64_t what) noexcept {
  return what >> (memory_bits + message_bits);
}
inline MessageKey message_key(std::uint32_t communicator, int rank, std::uint64_t bytes, Memory memory,
                              std::uint64_t message) noexcept {
  return {static_cast<std::uint64_t>(communicator) << 32U | static_cast<std::uint32_t>(rank),
          what_of(bytes, memory, message)};
}
inline std::uint64_t hash_of(const MessageKey &key) noexcept {
  const std::uint64_t hash = (key.channel * 0x9E37'79B9'7F4A'7C15U) ^ (key.what * 0xC2B2'AE3D'27D4'EB4FU);
  return hash ^ (hash >> 32U);
}
// A record that has moved leaves an empty key behind: other places may still know the old one.
struct MessageRecord {
  MessageKey key;
  std::uint64_t messages, ticks;
  std::uint64_t seen; // instance in which the partner has counted it
  Partner *partner;
};
// Beyond this many in a region, messages are counted in its partners and sizes at once.
inline constexpr std::uint32_t most_message_records = 1024;

// The members that every message changes, first in each Node.
struct NodeMessages {
  Index<MessageRecord> messages;
  std::uint64_t instance; // number of begins; 0: never entered
  Quantities now;         // totals, exclusive
};

struct CollectiveKey {
  std::uint64_t operation_and_size; // memory, function + 1, size of the communicator
  std::uint64_t bytes;
  bool operator==(const CollectiveKey &) const = default;
};
inline std::uint64_t hash_of(const CollectiveKey &key) noexcept {
  return hash_of(key.operation_and_size ^ hash_of(key.bytes));
}
inline std::uint64_t operation_key(std::uint64_t function, Memory memory, std::uint32_t size) noexcept {
  return number_of(memory) << 60U | (function + 1) << 32U | size;
}
inline Memory memory_of_operation(std::uint64_t key) noexcept { return memory_of_number(key >> 60U); }
inline std::uint64_t function_of_operation(std::uint64_t key) noexcept { return (key >> 32U & 0xFFFFU) - 1; }
// `bytes`: beyond exact_sizes, a range as in SizeRecord.
struct CollectiveRecord {
  CollectiveKey key;
  std::uint64_t calls, ticks, longest;
};

// Messages that the shm library between this and MPI has carried by one of its protocols, in one region.
// Their time is part of that of the calls in which they were carried.
struct TransferRecord {
  std::array<char, 16> protocol; // ended by a zero
  std::uint64_t messages, bytes, chunks, helpers, nanoseconds, longest;
};
using TransferPage = std::array<TransferRecord, 8>;

} // namespace haloscope::watch
