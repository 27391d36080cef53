// The recorder's counts: plain data in the arena. One thread writes each record. The collection at
// MPI_Finalize or, after a crash, haloscope-join reads it. Times are ticks (clock.hpp).
#pragma once

#include "watch/records/clock.hpp"
#include "watch/records/declared.hpp"
#include "watch/records/estimate.hpp"
#include "watch/records/flag.hpp"
#include "watch/records/message_records.hpp"
#include "watch/records/nccl_record.hpp"
#include "watch/records/schema.hpp"
#include "watch/records/trace_ring.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace haloscope::watch {

// A value that the program set for an instance.
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

using CallPages = std::array<CallPage *, call_pages>;
struct NodeCalls {
  Index<CollectiveRecord> collectives;
  CallPages calls;
};
inline constexpr unsigned other_memories = 2; // than the host's

// One path of regions on one thread. Members that every call touches come first. haloscope.base.schema
// declares the counted columns.
// NOLINTNEXTLINE(misc-multiple-inheritance): parts in the order of their use
struct Node : NodeMessages, CountedOften, NodeCalls, CountedRarely {
  Node *parent, *recent; // recent: the child entered last
  const char *name;
  Node *counts; // itself, or where what is not wanted goes
  NameHead head;
  Flag communication, series;
  bool reads_cpu;      // instances last a millisecond on average, or none has finished
  std::uint16_t depth; // 0: the root

  // The current instance.
  bool had_nested;
  bool nested_used;    // `nested` is not all zero
  bool last_was_empty; // `last` is, and stands for an instance without nested ones
  std::uint64_t begin; // its first tick; 0: not being recorded
  std::uint64_t wait_before;
  std::uint64_t cpu_before; // CPU time of the thread in ns, if it is read
  Quantities before;        // `now` when it began
  Quantities nested;        // what finished nested instances add; distinct ranks: of the whole instance

  // Totals, exclusive, and the extremes of finished instances.
  std::uint64_t instances, ticks;
  std::uint64_t cpu, cpu_ticks; // of instances in which it was read: CPU time in ns, and ticks
  Quantities last;
  Extremes exclusive, inclusive;
  std::uint64_t largest_message, skew_ticks, sizes_spilled;
  std::uint64_t omp_threads; // of OpenMP at most, at once
  Estimate estimate;
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

// The ticks of a region up to the tick `latest`, inclusive.
inline std::uint64_t ticks_in(const Node &node, std::uint64_t latest) noexcept {
  return node.ticks + (node.begin != 0 && latest > node.begin ? latest - node.begin : 0);
}
// Its ticks in MPI calls, exclusive.
inline std::uint64_t ticks_in_calls(const Node &node) noexcept {
  return node.p2p_ticks + node.poll_ticks + node.coll_ticks + node.rma_ticks + node.io_ticks +
         node.other_ticks;
}
// Its ticks outside of stamped calls. `own`: all of them, exclusive.
inline std::uint64_t ticks_outside(const Node &node, std::uint64_t own) noexcept {
  const std::uint64_t calls = ticks_in_calls(node);
  const auto [p2p, poll] = node.estimate.settled;
  return own - std::min(own, calls - std::min(calls, p2p + poll));
}
// Adds what was settled of an estimate.
template <class Sums> void add_settled(Sums &to, const EstimatedTicks &settled) noexcept {
  to.p2p_ticks += settled[static_cast<unsigned>(Estimated::p2p)];
  to.poll_ticks += settled[static_cast<unsigned>(Estimated::poll)];
}

// The name of all communicators for which there is no record, or no name.
inline constexpr const char *other_communicators = "(other communicators)";
inline constexpr std::uint32_t brief_id = ~std::uint32_t{0} - 1;

// A communicator as its members see it: created twice with the same members and name, it is one.
struct Communicator {
  std::uint32_t number; // its place in the arena, in units of its alignment
  std::uint32_t id;     // 0: its ranks are world ranks
  std::uint32_t size, remote_size;
  std::int32_t rank;
  Flag inter;
  Flag brief;             // the record is used again for others: nothing is remembered of its ranks
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

// The sums of a thread in an interval of time.
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

// A stretch of the program in which calls repeat (phases.hpp).
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

// Metadata of the run from the program or its environment, the latest first.
enum class MetadataKind : std::uint64_t { user, environment, job };
struct MetadataRecord {
  MetadataKind kind;
  const char *key, *value;
  MetadataRecord *next;
};

// A thread's answer to the question where it is (answer.hpp).
struct AnsweredRequest {
  std::uint32_t kind, communicator; // a Pending, a number
  std::int32_t partner, tag;
};
struct Answer {
  static constexpr std::uint32_t deepest = 64, most = 32;
  std::atomic<std::uint64_t> number; // of the last question that was answered
  std::uint32_t frames, requests;    // requests: at most `most`, of possibly more
  std::array<std::uint64_t, deepest> addresses;
  std::array<AnsweredRequest, most> waiting;
};

// How a thread used the processor up to a tick, in ns.
struct CpuUse {
  std::uint64_t tick, cpu, core_wait;
};
// The same of all threads of a process.
struct ProcessUse {
  std::uint64_t cpu, preemptions;
};

// Live: everything one thread has recorded, and the threads that ended before it began.
struct Recorder;
struct ThreadRecord {
  const Recorder *recorder; // what it is doing now
  Node *root;
  CommunicatorUse *communicators;
  std::uint64_t unmatched_begins, unmatched_ends;
  std::uint64_t newest; // latest tick that was stamped, but for polls
  std::uint64_t polled; // the end of the latest stamped poll
  Slices *slices;
  CpuUse cpu_before;                                        // when it began
  std::uint64_t off_cpu_ticks, core_wait_ticks;             // up to its last complete slice, or its end
  std::uint64_t ended_off_cpu_ticks, ended_core_wait_ticks; // that are of ended threads
  PhaseRecord *phases;                                      // the last one
  ThreadRecord *next;
  std::uint64_t threads; // that recorded here, one after the other
  std::int32_t tid;      // of the system; 0: the thread has ended
  Answer answer;
};

// Latest tick that is known of a thread.
inline std::uint64_t latest_tick(const ThreadRecord &thread) noexcept {
  return std::max(thread.newest, thread.polled);
}

// At the arena's address.
struct ProcessRecord {
  static constexpr std::uint64_t expected_magic = 0x3145'5649'4C4F'4C48U; // HLOLIVE1
  std::uint64_t magic, layout;
  std::uint64_t world; // the same in all processes of a world, and in no other
  std::int32_t rank, size, pid, mpi_version, mpi_subversion;
  Flag finalized, watched;
  Flag on_one_node; // all ranks of the world are, as its launcher said
  NumericSettings settings;
  std::uint32_t most_slices;
  std::atomic<std::uint64_t> slice_ticks; // the same for all threads; 0: not known yet
  std::array<char, 1024> only, series;    // regions that alone count, and those with a series, one a line
  std::array<char, 64> run;               // the identity of the run, which its spawned processes share
  std::array<char, 256> host, program, library;
  std::array<char, 4096> command, output;
  std::array<char, 512> cpus; // what the process may run on, as lists such as 0-3,8; empty: not known
  std::array<char, 128> numa_nodes, sockets;
  std::array<char, 16> openmp; // describe_openmp, at the end
  double start;                // seconds since 1970
  ClockPair first, last;
  ProcessUse use_before, use; // at the first; between these two, once they are known
  std::uint64_t memory_max;   // bytes, once they are known
  std::atomic<ThreadRecord *> threads;
  std::atomic<MetadataRecord *> metadata;
  std::atomic<std::uint64_t> dropped;
  std::atomic<std::int32_t>
      answers; // the signal by which threads are asked where they are; 0: nobody answers
  TraceRecord trace;
};
// The identity of the records' layout: builds of the same sources for the same functions. Readers refuse
// others.
extern const std::uint64_t record_layout;

} // namespace haloscope::watch
