// Writing down what happened: the second half of every wrapper.
//
// Budget a call in the steady state (known region, partner, size; data in the first-level cache):
// no lock, no allocation, no system call; three probes of small hash tables and about a dozen adds,
// 4 to 6 ns on a 2023 server core, beside the time stamps (clock.hpp). `make bench-watch` measures it.
#pragma once

#include "records.hpp"

namespace haloscope::watch {

// The state of one thread. Only that thread touches it.
struct Recorder {
  Node *node = nullptr;     // where calls are counted
  Node *position = nullptr; // where the markers are; the same unless recording is switched off
  bool busy = false;        // inside an MPI call: whatever the library calls by itself is not counted
  bool paused = false;
  // Posts of small messages: one at the end of each interval is stamped and stands for all in it. The
  // first ones, of unusual length since everything is new to the library, stand for themselves.
  unsigned interval = 1, until_stamp = 1, exact_posts = 64;
  unsigned lost_regions = 0; // begun when the arena was full
  std::uint64_t random = 0x9E37'79B9'7F4A'7C15U;
  Arena *arena = nullptr;
  ProcessRecord *process = nullptr;
  ThreadRecord *record = nullptr;
  Node *discard = nullptr;
  Partner lost_partner{}; // takes what has no room
  SizeRecord lost_size{};

  void dropped() const noexcept { process->dropped.fetch_add(1, std::memory_order_relaxed); }

  static constexpr unsigned mean_interval = 16;

  // How many posts the stamp of this one stands for; 0: do not stamp it. Intervals vary (1 … 31) so
  // that a loop of a regular length is not always sampled at the same call.
  unsigned stamp_weight() noexcept {
    if (__builtin_expect(--until_stamp != 0, 1)) return 0;
    const unsigned weight = interval;
    if (exact_posts > 0) {
      if (!process->exact_times) exact_posts--;
    } else {
      random ^= random << 13U;
      random ^= random >> 7U;
      random ^= random << 17U;
      interval = 1 + static_cast<unsigned>(random % (2 * mean_interval - 1));
    }
    until_stamp = interval;
    return weight;
  }
};

// The slow paths: what a region sees for the first time.
[[gnu::noinline, gnu::cold]] Partner *make_partner(Recorder &to, Node &node, std::uint32_t communicator,
                                                   int rank, int world_rank) noexcept;
[[gnu::noinline, gnu::cold]] SizeRecord *make_size(Recorder &to, Node &node, Kind kind,
                                                   std::uint64_t bytes) noexcept;
[[gnu::noinline, gnu::cold]] CallPage *make_call_page(Recorder &to, Node &node, unsigned page) noexcept;
void first_send_of_instance(Node &node, Partner &partner) noexcept;
void first_receive_of_instance(Node &node, Partner &partner) noexcept;

[[gnu::always_inline]] inline CallRecord &call_record(Recorder &to, Function function) noexcept {
  const auto index = static_cast<unsigned>(function);
  CallPage *page = to.node->calls[index / calls_per_page];
  if (__builtin_expect(page == nullptr, 0)) page = make_call_page(to, *to.node, index / calls_per_page);
  return (*page)[index % calls_per_page];
}

// A call that was not stamped.
inline void count_call(Recorder &to, Function function, std::uint64_t bytes) noexcept {
  CallRecord &call = call_record(to, function);
  call.calls++;
  call.bytes += bytes;
}

// A call of `duration` ticks that stands for `weight` such calls in the sums of time.
inline void count_call(Recorder &to, Function function, std::uint64_t bytes, std::uint64_t duration,
                       unsigned weight = 1) noexcept {
  CallRecord &call = call_record(to, function);
  call.calls++;
  call.bytes += bytes;
  call.ticks += duration * weight;
  if (duration > call.longest) call.longest = duration;
}

inline SizeRecord &size_record(Recorder &to, Kind kind, std::uint64_t bytes) noexcept {
  SizeRecord *record = to.node->sizes.find(size_key(kind, bytes));
  if (__builtin_expect(record == nullptr, 0)) record = make_size(to, *to.node, kind, bytes);
  return *record;
}

// `translate` gives the world rank of `rank` in `communicator`; asked once a region and partner.
template <class Translate>
[[gnu::always_inline]] inline Partner &partner_of(Recorder &to, std::uint32_t communicator, int rank,
                                                  Translate &&translate) noexcept {
  if (PartnerName *name = to.node->partner_names.find(partner_key(communicator, rank))) return *name->partner;
  return *make_partner(to, *to.node, communicator, rank, translate(rank));
}

inline void count_send(Recorder &to, Partner &partner, std::uint64_t bytes, std::uint64_t duration) noexcept {
  Node &node = *to.node;
  node.now[sends]++;
  node.now[bytes_sent] += bytes;
  if (bytes > node.largest_message) node.largest_message = bytes;
  partner.sends++;
  partner.bytes_sent += bytes;
  partner.ticks += duration;
  if (partner.dest_seen != node.instance) first_send_of_instance(node, partner);
  SizeRecord &size = size_record(to, Kind::p2p, bytes);
  size.messages++;
  size.ticks += duration;
}

inline void count_receive(Recorder &to, Partner &partner, std::uint64_t bytes,
                          std::uint64_t duration) noexcept {
  Node &node = *to.node;
  node.now[recvs]++;
  node.now[bytes_recv] += bytes;
  partner.recvs++;
  partner.bytes_recv += bytes;
  partner.ticks += duration;
  if (partner.src_seen != node.instance) first_receive_of_instance(node, partner);
  size_record(to, Kind::p2p, bytes).ticks += duration;
}

// Takes a send back from the current region.
[[gnu::cold]] void uncount_send(Recorder &to, Partner &partner, std::uint64_t bytes) noexcept;

// Time that completing a send took.
inline void add_send_time(Recorder &to, Partner &partner, std::uint64_t bytes,
                          std::uint64_t duration) noexcept {
  partner.ticks += duration;
  size_record(to, Kind::p2p, bytes).ticks += duration;
}

void count_collective(Recorder &to, Function function, std::uint32_t communicator_size, std::uint64_t bytes,
                      std::uint64_t duration) noexcept;
void count_one_sided(Recorder &to, std::uint64_t bytes, std::uint64_t duration) noexcept;

// Regions (regions.cpp).
Node *make_root(Arena &arena, const char *name) noexcept;
void begin_region(Recorder &to, const char *name, bool communication) noexcept;
void end_region(Recorder &to, const char *name) noexcept;
void record_value(Recorder &to, const char *name, double value) noexcept;
// Switches recording by this thread off and on; markers keep their place meanwhile.
void pause(Recorder &to, bool paused) noexcept;
// Ends what is still open, the root last.
void end_all(Recorder &to) noexcept;
// Another instance of the root, after `end_all`.
void begin_again(Recorder &to) noexcept;

// Which regions keep all their instances: names or paths, one a line.
void set_series(const char *regions) noexcept;

} // namespace haloscope::watch
