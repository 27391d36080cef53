// Counting: the second half of every wrapper.
//
// Budget per call in the steady state (known region, partner, size; data in the first-level cache): no lock,
// no allocation, no system call, and two time stamps (clock.hpp). In addition at most 100 instructions for a
// post without a stamp and for a completion in MPI_Waitall, and 150 for any other call (counted by
// callgrind). `make bench-watch` measures the time.
#pragma once

#include "watch/phases/observe_call.hpp"
#include "watch/records/recorder.hpp"
#include "watch/stacks/sites.hpp"

#include <algorithm>

namespace haloscope::watch {

// While it exists, everything counts as this kind of memory, whatever the buffer of the call.
class Counting {
public:
  Counting(Recorder &to, Memory memory) noexcept : to_(to), before_(to.memory) { to.memory = memory; }
  ~Counting() { to_.memory = before_; }
  Counting(const Counting &) = delete;
  Counting &operator=(const Counting &) = delete;

private:
  Recorder &to_;
  Memory before_;
};

// The slow paths: what a region sees for the first time.
[[gnu::noinline, gnu::cold]] CallPage *make_call_page(Recorder &to, CallPages &pages, unsigned page) noexcept;
[[gnu::noinline]] CallPage &call_page_apart(Recorder &to, Function function) noexcept;
// nullptr if there is no room: the message is counted apart.
[[gnu::noinline, gnu::cold]] MessageRecord *make_message(Recorder &to, const MessageKey &key,
                                                         const Communicator &communicator, int rank) noexcept;
[[gnu::noinline, gnu::cold]] void count_send_apart(Recorder &to, std::uint64_t message,
                                                   const Communicator &communicator, int rank,
                                                   std::uint64_t bytes, std::uint64_t duration) noexcept;
[[gnu::noinline, gnu::cold]] void count_receive_apart(Recorder &to, Message message,
                                                      const Communicator &communicator, int rank,
                                                      std::uint64_t bytes, std::uint64_t duration) noexcept;
[[gnu::noinline, gnu::cold]] void add_send_time_apart(Recorder &to, const Communicator &communicator,
                                                      int rank, std::uint64_t bytes,
                                                      std::uint64_t duration) noexcept;
[[gnu::noinline]] void first_send_of_instance(Node &node, Partner &partner) noexcept;
[[gnu::noinline]] void first_receive_of_instance(Node &node, Partner &partner) noexcept;
// The partner that `communicator` calls `rank`.
Partner &partner_of(Recorder &to, const Communicator &communicator, int rank) noexcept;

[[gnu::always_inline]] inline CallPage &call_page(Recorder &to, Function function) noexcept {
  if (__builtin_expect(to.memory != Memory::host, 0)) return call_page_apart(to, function);
  const auto index = static_cast<unsigned>(function);
  CallPage *page = to.node->calls[index / calls_per_page];
  if (__builtin_expect(page == nullptr, 0)) page = make_call_page(to, to.node->calls, index / calls_per_page);
  return *page;
}
[[gnu::always_inline]] inline CallRecord &call_record(Recorder &to, Function function) noexcept {
  return call_page(to, function).records[static_cast<unsigned>(function) % calls_per_page];
}

// The call that the thread is in, at its site: once a call, with all that it is counted for.
[[gnu::always_inline]] inline void count_at_site(const Recorder &to, std::uint64_t bytes) noexcept {
  if (__builtin_expect(to.site == nullptr, 1)) return;
  to.site->sums.calls++;
  to.site->sums.bytes += bytes;
}
inline void add_duration(CallRecord &to, std::uint64_t duration) noexcept {
  to.ticks += duration;
  to.longest = std::max(to.longest, duration);
}

// A call that was not stamped, in its region alone.
[[gnu::always_inline]] inline void count_in_region(Recorder &to, Function function,
                                                   std::uint64_t bytes) noexcept {
  CallRecord &call = call_record(to, function);
  call.calls++;
  call.bytes += bytes;
}
[[gnu::always_inline]] inline void count_call(Recorder &to, Function function, std::uint64_t bytes) noexcept {
  count_in_region(to, function, bytes);
  count_at_site(to, bytes);
}

[[gnu::always_inline]] inline void add_time(const Recorder &to, CallRecord &call,
                                            std::uint64_t duration) noexcept {
  add_duration(call, duration);
  if (__builtin_expect(to.site != nullptr, 0)) add_duration(to.site->sums, duration);
}

// The time of a call that is counted elsewhere.
[[gnu::always_inline]] inline void add_call_time(Recorder &to, Function function,
                                                 std::uint64_t duration) noexcept {
  add_time(to, call_record(to, function), duration);
}
// The time of the calls that were not stamped, for which this one was a sample.
[[gnu::noinline]] void add_estimate(Recorder &to, Function function, Estimated of,
                                    std::uint64_t duration) noexcept;

[[gnu::always_inline]] inline void count_call(Recorder &to, Function function, std::uint64_t bytes,
                                              std::uint64_t duration) noexcept {
  count_call(to, function, bytes);
  add_call_time(to, function, duration);
}

[[gnu::always_inline]] inline MessageRecord *message_record(Recorder &to, std::uint64_t message,
                                                            const Communicator &communicator, int rank,
                                                            std::uint64_t bytes) noexcept {
  const MessageKey key = message_key(communicator.number, rank, bytes, to.memory, message);
  MessageRecord *record = to.node->messages.find(key);
  if (__builtin_expect(record == nullptr, 0)) record = make_message(to, key, communicator, rank);
  return record;
}

// `message`: started_again, or what message_of gives; then the function's call is counted with it.
inline std::uint64_t message_of(Function function) noexcept {
  return static_cast<std::uint64_t>(function) + sent;
}
[[gnu::always_inline]] inline void count_message(Node &node, MessageRecord &record, std::uint64_t duration,
                                                 void (*first_of_instance)(Node &, Partner &)) noexcept {
  record.messages++;
  record.ticks += duration;
  if (record.seen != node.instance) {
    record.seen = node.instance;
    first_of_instance(node, *record.partner);
  }
}
// Messages of one size in the sums of a region. Negative: taken back.
[[gnu::always_inline]] inline void add_sends(Node &node, std::int64_t messages,
                                             std::uint64_t bytes) noexcept {
  const auto number = static_cast<std::uint64_t>(messages);
  node.now[sends] += number;
  node.now[bytes_sent] += number * bytes;
}
[[gnu::always_inline]] inline void add_receives(Node &node, std::int64_t messages,
                                                std::uint64_t bytes) noexcept {
  const auto number = static_cast<std::uint64_t>(messages);
  node.now[recvs] += number;
  node.now[bytes_recv] += number * bytes;
}
[[gnu::always_inline]] inline void count_sent(Node &node, MessageRecord &record, std::uint64_t bytes,
                                              std::uint64_t duration) noexcept {
  add_sends(node, 1, bytes);
  count_message(node, record, duration, first_send_of_instance);
}
[[gnu::always_inline]] inline void count_arrived(Node &node, MessageRecord &record, std::uint64_t bytes,
                                                 std::uint64_t duration) noexcept {
  add_receives(node, 1, bytes);
  count_message(node, record, duration, first_receive_of_instance);
}

// Returns the record, if there is one.
[[gnu::always_inline]] inline MessageRecord *count_send(Recorder &to, std::uint64_t message,
                                                        const Communicator &communicator, int rank,
                                                        std::uint64_t bytes,
                                                        std::uint64_t duration) noexcept {
  MessageRecord *record = message_record(to, message, communicator, rank, bytes);
  if (__builtin_expect(record != nullptr, 1))
    count_sent(*to.node, *record, bytes, duration);
  else
    count_send_apart(to, message, communicator, rank, bytes, duration);
  return record;
}

[[gnu::always_inline]] inline MessageRecord *count_receive(Recorder &to, const Communicator &communicator,
                                                           int rank, std::uint64_t bytes,
                                                           std::uint64_t duration,
                                                           Message message = arrived) noexcept {
  MessageRecord *record = message_record(to, message, communicator, rank, bytes);
  if (__builtin_expect(record != nullptr, 1))
    count_arrived(*to.node, *record, bytes, duration);
  else
    count_receive_apart(to, message, communicator, rank, bytes, duration);
  return record;
}

// Takes a send back from the current region.
[[gnu::cold]] void uncount_send(Recorder &to, std::uint64_t message, const Communicator &communicator,
                                int rank, std::uint64_t bytes) noexcept;

// Time that completing a send took.
[[gnu::always_inline]] inline void add_send_time(Recorder &to, std::uint64_t message,
                                                 const Communicator &communicator, int rank,
                                                 std::uint64_t bytes, std::uint64_t duration) noexcept {
  if (MessageRecord *record = message_record(to, message, communicator, rank, bytes))
    record->ticks += duration;
  else
    add_send_time_apart(to, communicator, rank, bytes, duration);
}

// Communicators (communicators.cpp): the world rank of `rank`, of the remote group if there is one;
// -1 outside this world.
int world_rank(const Communicator &communicator, int rank) noexcept;

// nullptr if there is no room.
[[gnu::noinline]] CollectiveRecord *find_collective(Recorder &to, RecentCollective &recent) noexcept;
[[gnu::always_inline]] inline CollectiveRecord *collective_record(Recorder &to, Function function,
                                                                  const Communicator &communicator,
                                                                  std::uint64_t bytes,
                                                                  std::uintptr_t handle) noexcept {
  // The index uses only the handle, so the record is loaded before the communicator.
  RecentCollective &recent = to.recent_collectives[(static_cast<unsigned>(function) + (handle >> 6U)) %
                                                   to.recent_collectives.size()];
  if (__builtin_expect(recent.node == to.node && recent.communicator == &communicator &&
                           recent.function == function && recent.memory == to.memory && recent.bytes == bytes,
                       1))
    return recent.record;
  recent = {to.node, &communicator, function, to.memory, bytes, nullptr};
  return find_collective(to, recent);
}
[[gnu::always_inline]] inline void count_collective(Recorder &to, Function function,
                                                    const Communicator &communicator, std::uint64_t bytes,
                                                    std::uint64_t duration,
                                                    std::uintptr_t handle = 0) noexcept {
  to.node->now[colls]++;
  to.node->coll_bytes += bytes;
  if (CollectiveRecord *record = collective_record(to, function, communicator, bytes, handle)) {
    record->calls++;
    record->ticks += duration;
    record->longest = std::max(record->longest, duration);
  }
}
inline void add_collective_time(Recorder &to, Function function, const Communicator &communicator,
                                std::uint64_t bytes, std::uint64_t duration) noexcept {
  if (CollectiveRecord *record = collective_record(to, function, communicator, bytes, 0))
    record->ticks += duration;
}

void count_one_sided(Recorder &to, std::uint64_t bytes, std::uint64_t duration) noexcept;

// A region was entered or left, where a trace is wanted (noting.cpp).
void trace_region(Recorder &state, const Node &node, bool entered, std::uint64_t tick) noexcept;

// Regions (regions.cpp).
Node *make_root(Arena &arena, const char *name) noexcept;
void begin_region(Recorder &to, const char *name, bool communication) noexcept;
void end_region(Recorder &to, const char *name) noexcept;
bool has_child(const Node &parent, const char *name) noexcept;
void record_value(Recorder &to, const char *name, double value) noexcept;
// The reasons why a thread does not record. Markers stay valid meanwhile.
enum class Pause : std::uint8_t { program = 1, schedule = 2 };
void pause(Recorder &to, Pause by, bool paused) noexcept;
// Ends all open regions at the tick `now`, the root last.
void end_all(Recorder &to, std::uint64_t now) noexcept;
// Ends the open instances. `resume_regions` begins new instances of the same regions.
void suspend_regions(Recorder &to, std::uint64_t now) noexcept;
void resume_regions(Recorder &to, std::uint64_t now) noexcept;
// Another instance of the root, after `end_all`.
void begin_again(Recorder &to) noexcept;

// Actions at certain times (schedule.cpp): slices, and the begin and end of recording. They are checked after
// every stamp.
[[gnu::noinline, gnu::cold]] void pass_deadline(Recorder &to, std::uint64_t now) noexcept;
void start_schedule(Recorder &to, std::uint64_t now) noexcept;
[[gnu::always_inline]] inline void note_time(Recorder &to, std::uint64_t now) noexcept {
  to.record->newest = now;
  if (to.phases != nullptr) observe_call(to, now);
  if (__builtin_expect(now >= to.deadline, 0)) pass_deadline(to, now);
}

} // namespace haloscope::watch
