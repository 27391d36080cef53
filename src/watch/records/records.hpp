// What the recorder counts: plain data in the arena, written by one thread each, read by the
// collection at MPI_Finalize or, after a crash, by haloscope-join. Times are ticks (clock.hpp).
#pragma once

#include "watch/records/clock.hpp"
#include "watch/records/functions.hpp"
#include "watch/records/index.hpp"
#include "watch/records/memory_kind.hpp"
#include "watch/records/nccl_record.hpp"
#include "watch/records/schema.hpp"
#include "watch/records/slots.hpp"

#include <array>
#include <atomic>
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
using CallPage = std::array<CallRecord, calls_per_page>;

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

// Messages between two ranks.
struct Traffic {
  std::uint64_t sends, bytes_sent, recvs, bytes_recv;
};
struct Node;
// What one rank exchanged with another in one region; `neighbor`: by neighbourhood collectives, which
// is p2p neither in numbers nor in distinct ranks. `*_seen` is the instance that counted it as
// distinct; `parent` is the same partner in the enclosing region.
struct Partner {
  std::int32_t rank;
  Node *node; // the region
  std::uint64_t sends, bytes_sent, recvs, bytes_recv, ticks;
  Traffic neighbor;
  std::uint64_t dest_seen, dest_seen_nested, src_seen, src_seen_nested;
  Partner *parent, *next;
};
// How a communicator calls a partner: several names may lead to one partner.
struct PartnerName {
  std::uint64_t key; // partner_key
  Partner *partner;
};
inline std::uint64_t partner_key(std::uint32_t communicator, int rank) noexcept {
  return (static_cast<std::uint64_t>(communicator + 1U) << 32U) | static_cast<std::uint32_t>(rank);
}

// Messages of one size, with one rank through one communicator, started by one function: all that a
// message changes in the steady state is one of these and the current instance's sums. The collection
// adds them to the partners, sizes, calls and communicators.
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
  std::uint64_t seen; // instance in which the partner was told
  Partner *partner;
};
// Beyond this many in a region, messages are counted in its partners and sizes at once.
inline constexpr std::uint32_t most_message_records = 1024;

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

// What the program told about an instance.
struct ValueRecord {
  const char *name;
  std::uint64_t instance;
  double value;
};
template <class Record> struct Chunk {
  static constexpr unsigned capacity = 512;
  Chunk *next;
  std::uint64_t count;
  std::array<Record, capacity> records;
};
template <class Record> struct ChunkList {
  Chunk<Record> *first, *last;

  bool append(const Record &record, Arena &arena) noexcept {
    if (last == nullptr || last->count == Chunk<Record>::capacity) {
      auto *chunk = arena.make<Chunk<Record>>();
      if (chunk == nullptr) return false;
      (last == nullptr ? first : last->next) = chunk;
      last = chunk;
    }
    last->records[last->count] = record;
    std::atomic_signal_fence(std::memory_order_release);
    last->count++;
    return true;
  }
};

struct NodeName {
  std::uint64_t key; // hash of the name, never 0
  Node *node;        // the first of the nodes with this hash, linked by same_hash
};

// Regions nested deeper than this count for the one around them: programs that recurse would have a
// path for each level, and the collection would need as deep a stack.
inline constexpr std::uint16_t deepest_region = 1024;

// The first bytes of a name, so that most comparisons take two words.
struct NameHead {
  std::array<std::uint64_t, 2> text, mask; // mask: which of them count, the terminating zero among them
};

inline constexpr const char *root_name = "<program>"; // the root's

struct Site; // sites.hpp

struct NodeMessages {
  Index<MessageRecord> messages;
  std::uint64_t instance; // number of begins; 0: never entered
  Quantities now;         // totals, exclusive
};
using CallPages = std::array<CallPage *, call_pages>;
struct NodeCalls {
  Index<CollectiveRecord> collectives;
  CallPages calls;
};
inline constexpr unsigned other_memories = 2; // than the host's

// One path of regions on one thread. What every call touches comes first; what is counted is declared in
// haloscope.base.schema.
// NOLINTNEXTLINE(misc-multiple-inheritance): parts in the order of their use
struct Node : NodeMessages, CountedOften, NodeCalls, CountedRarely {
  Node *parent, *recent; // recent: the child entered last
  const char *name;
  Node *counts; // itself, or where what is not wanted goes
  NameHead head;
  bool communication, series;
  std::uint16_t depth; // 0: the root

  // The current instance.
  bool had_nested;
  bool nested_used;    // `nested` is not all zero
  bool last_was_empty; // `last` is, and stands for an instance without nested ones
  std::uint64_t begin; // its first tick; 0: not being recorded
  std::uint64_t wait_before;
  Quantities before; // `now` when it began
  Quantities nested; // what finished nested instances add; distinct ranks: of the whole instance

  // Totals, exclusive, and the extremes of finished instances.
  std::uint64_t instances, ticks;
  Quantities last;
  Extremes exclusive, inclusive;
  std::uint64_t largest_message, skew_ticks, sizes_spilled;
  Site *sites;

  Index<PartnerName> partner_names;
  Partner *partners;
  Index<SizeRecord> sizes;
  ChunkList<std::uint64_t> instance_list; // series.hpp
  std::uint64_t series_end;               // decoded end of the last one
  ChunkList<ValueRecord> value_list;
  TransferPage *transfers;
  NcclRecord *nccl; // the latest first
  // Calls with buffers in other memory than the host's.
  std::array<CallPages *, other_memories> calls_apart;

  Index<NodeName> child_names;
  Node *first_child, *last_child, *next_sibling, *same_hash;
};

// A communicator as its members see it: created twice with the same members and name, it is one.
struct Communicator {
  std::uint32_t number; // its place in the arena, in units of its alignment
  std::uint32_t id;     // 0: its ranks are world ranks
  std::uint32_t size, remote_size;
  std::int32_t rank;
  // Of its topology, ranks of its own, MPI_PROC_NULL where there is none.
  std::uint32_t out_degree, in_degree;
  const std::int32_t *destinations, *sources;
  bool inter;
  std::uint64_t members;  // hash of the world ranks in order
  std::uint64_t identity; // the same for all its ranks, and for no other communicator
  // World ranks of its ranks (of its remote group, if it has one): a list, else first_rank + i * stride.
  // Where both are 0 and `id` is not, there were too many to be kept.
  const std::int32_t *ranks;
  std::int32_t first_rank, stride;
  const char *name;
  Communicator *next;
};
inline constexpr std::size_t communicator_alignment = 16; // that of all records
struct CommunicatorUse {
  Communicator *communicator;
  std::uint64_t calls, bytes;
  CommunicatorUse *next;
};

// What a thread did in a stretch of time.
struct Slice : SliceSums {
  std::uint64_t place;      // in units of the slices' length, from the process's first tick
  std::uint64_t begin, end; // ends where a stamp was taken
};
struct Slices {
  static constexpr unsigned most = 256;
  std::uint64_t doublings; // a slice is 2^doublings times the process's slice_ticks long
  std::uint64_t begin;     // of the first
  std::uint64_t count;
  Slices *spare; // where joined ones go: a process may be killed meanwhile
  std::array<Slice, most> slices;
};

// A stretch of the program in which calls repeat: what was found of it (phases.hpp).
struct PhaseRecord {
  std::uint64_t number;                       // from 1 on
  std::uint64_t iterations;                   // 0: it was a part of the next one
  std::uint64_t found_after;                  // so many of them
  std::uint64_t length;                       // calls of a typical one
  std::uint64_t forms;                        // how many different ones there were
  std::uint64_t first_call, calls, all_calls; // of those that are looked at; in the phase, in the thread
  std::uint64_t first, last;                  // ticks
  PhaseRecord *before;
};

// What the program, or its surroundings, say of the run, the latest first.
enum class MetadataKind : std::uint64_t { user, environment, job };
struct MetadataRecord {
  MetadataKind kind;
  const char *key, *value;
  MetadataRecord *next;
};

// What a thread says when it is asked where it is (answer.hpp).
struct AnsweredRequest {
  std::uint32_t kind, communicator; // a Pending, a number
  std::int32_t partner, tag;
};
struct Answer {
  static constexpr std::uint32_t deepest = 64, most = 32;
  std::atomic<std::uint64_t> number; // of the last question that was answered
  std::uint32_t frames, requests;    // requests: there may be more than are told
  std::array<std::uint64_t, deepest> addresses;
  std::array<AnsweredRequest, most> waiting;
};

// Live: everything one thread has recorded.
struct Recorder;
struct ThreadRecord {
  const Recorder *recorder; // what it is doing now
  Node *root;
  CommunicatorUse *communicators;
  std::uint64_t unmatched_begins, unmatched_ends;
  std::uint64_t newest; // latest tick that was stamped
  Slices *slices;
  PhaseRecord *phases; // the last one
  ThreadRecord *next;
  std::int32_t tid; // of the system
  Answer answer;
};

// At the arena's address.
struct ProcessRecord {
  static constexpr std::uint64_t expected_magic = 0x3145'5649'4C4F'4C48U; // HLOLIVE1
  std::uint64_t magic, layout;
  std::uint64_t world; // the same in all processes of a world, and in no other
  std::int32_t rank, size, pid, mpi_version, mpi_subversion;
  bool exact_times, finalized, watched;
  bool on_one_node;                            // all ranks of the world are, as its launcher said
  std::uint32_t most_slices, sync_collectives; // sync_collectives: 0 if collectives' skew is not measured
  std::uint32_t depth; // frames per call site (--callsites, --depth); 0: no call sites
  bool phases;
  std::uint64_t size_limit;               // bytes of the profile; 0: none
  double slice;                           // 0: no slices
  std::atomic<std::uint64_t> slice_ticks; // the same for all threads; 0: not known yet
  double after, until;                    // seconds after the start; 0: at once, to the end
  std::array<char, 1024> only;            // regions that alone count, one a line
  std::array<char, 256> host, program, library;
  std::array<char, 4096> command, output;
  std::array<char, 512> cpus; // what the process may run on, as lists such as 0-3,8; empty: not known
  std::array<char, 128> numa_nodes, sockets;
  double start; // seconds since 1970
  ClockPair first, last;
  std::atomic<ThreadRecord *> threads;
  std::atomic<MetadataRecord *> metadata;
  std::atomic<std::uint64_t> dropped;
  std::atomic<std::int32_t>
      answers; // the signal by which threads are asked where they are; 0: nobody answers
  trace::TraceRecord trace;
};
// What records mean, to builds of the same sources for the same functions; the reader refuses others.
extern const std::uint64_t record_layout;

} // namespace haloscope::watch
