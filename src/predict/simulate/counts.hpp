// What a simulated rank's MPI calls are counted into. SMPI runs all ranks as contexts of one thread, so
// nothing here is locked, and no rank's globals are its own: everything hangs on its actor.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace haloscope::simulate {

// The quantities that have extremes over the instances of a region, as docs/format.md orders them.
enum Quantity : unsigned { sends, recvs, dest_ranks, src_ranks, bytes_sent, bytes_recv, colls };
inline constexpr unsigned quantities = 7;
using Quantities = std::array<std::int64_t, quantities>;

enum class Kind : std::uint8_t { p2p, coll, other };

struct Traffic {
  std::int64_t sends = 0, bytes_sent = 0, recvs = 0, bytes_recv = 0;
  double time = 0;
};

struct Tally {
  std::int64_t calls = 0, bytes = 0;
  double total = 0, longest = 0;

  void add(std::int64_t number, std::int64_t size, double seconds) {
    calls += number;
    bytes += size;
    total += seconds;
    longest = seconds > longest ? seconds : longest;
  }
};

// Least and most over the finished instances of a region.
struct Extremes {
  Quantities least{}, most{};
  void add(const Quantities &values, bool first);
};

// One region on one rank; the sums are exclusive, `time` is not.
struct Region {
  std::int64_t instances = 0, coll_bytes = 0, largest = 0;
  Quantities sums{};
  double time = 0, p2p_time = 0, coll_time = 0, other_time = 0, wait_time = 0;
  std::map<int, Traffic> partners;
  std::set<int> destinations, sources; // with those of nested regions
  Extremes inclusive, exclusive;
};

// An open instance of a region.
struct Frame {
  int path = 0;
  double start = 0;
  Quantities all{}, own{};
  std::set<int> destinations, sources, own_destinations, own_sources;
};

struct Rank {
  int number = -1;
  bool inside = false; // a call that is counted
  std::string host;
  double start = 0, stop = 0;
  std::int64_t unmatched_begins = 0, unmatched_ends = 0;
  std::vector<Frame> open;
  std::map<int, Region> regions;

  Region &region() { return regions[open.back().path]; }

  void begin(const std::string &name, bool communication, double now);
  void end(const std::string &name, double now);
  void finish(double now);

  void sent(int to, std::int64_t bytes);
  void received(int from, std::int64_t bytes);
  // `seconds` of a call named `call` were spent on messages of `bytes` with `partner`.
  void spent_on_message(int partner, std::int64_t bytes, double seconds);
  void collective(const char *operation, int size, std::int64_t bytes, double seconds);
  void call(const char *name, Kind kind, std::int64_t bytes, double seconds, bool waiting);

private:
  void close(double now);
};

struct Path {
  int parent;
  bool communication;
  std::string name;
};

// All ranks of the simulation and what is kept for them together.
struct World {
  std::vector<Path> paths{{-1, false, "<program>"}};
  std::map<std::pair<int, std::string>, int> children;
  std::map<int, Rank> ranks;
  std::map<std::tuple<int, std::string>, Tally> calls;
  std::map<std::tuple<int, Kind, std::int64_t>, Tally> sizes;
  std::map<std::tuple<int, std::string, int, std::int64_t>, Tally> collectives;
  std::map<std::string, std::int64_t> unaccounted;
  int running = 0;

  int path(int parent, const std::string &name, bool communication);
  // Writes everything as tab-separated lines to $HALOSCOPE_SIMULATED; does nothing without it.
  void write() const;
};

World &world();
// Says in the same file who called MPI_Abort, and with which code.
void write_abort(int rank, int code);

// The rank starts (MPI_Init) and ends (MPI_Finalize); the file is written with the last one's end.
Rank &start_rank(int number, double now);
void end_rank(Rank &rank, double now);
// The rank that runs now, or null outside of its MPI_Init and MPI_Finalize.
Rank *this_rank();
// The same, now inside a call; null where it was inside one already.
Rank *entered();

} // namespace haloscope::simulate
