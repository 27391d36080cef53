// Time, and waiting for it without burning the processor.
#include "hide/inject/injection.hpp"
#include "interpose/files.hpp"

#include <algorithm>
#include <ctime>
#include <sys/prctl.h>

namespace haloscope::inject {

namespace {

using interpose::second;

constexpr Moment slice = 1'000'000; // between two looks after the library
constexpr Moment spun = 30'000;     // a sleeper may wake half of that too late
// For ranks with a processor each. A rank that has slept is slower for some microseconds. A network has no
// such effect, because MPI waits actively.
constexpr Moment spun_alone = 200'000;
constexpr Moment looked = 5'000; // a look after the library may take as long

std::int64_t shift = 0;

timespec as_timespec(Moment local) noexcept { return {local / second, local % second}; }

// Timers are 50 µs late unless a thread asks for better ones. The program's own setting comes back.
class FineTimer {
public:
  FineTimer() noexcept : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1UL); }
  ~FineTimer() {
    if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
  FineTimer(const FineTimer &) = delete;
  FineTimer &operator=(const FineTimer &) = delete;

private:
  int before_;
};

void sleep_until(Moment due) noexcept {
  const timespec local = as_timespec(due - shift);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &local, nullptr);
}

void go_on() noexcept {
  int found = 0;
  const Lock lock;
  if (state.library) interpose::real.Iprobe(MPI_ANY_SOURCE, 0, *state.library, &found, MPI_STATUS_IGNORE);
}

} // namespace

Moment now() noexcept { return interpose::monotonic_time() + shift; }

void shift_clock(std::int64_t nanoseconds) noexcept { shift += nanoseconds; }

void wait_until(Moment due) noexcept {
  if (due <= now()) return;
  const interpose::CancelGuard uncancelled;
  const FineTimer timer;
  const Moment awake = state.crowded ? spun : spun_alone;
  for (Moment time = now(); time < due; time = now()) {
    if (due - time > awake) sleep_until(std::min(due - awake / 2, time + slice));
    if (due - time > (state.crowded ? awake : looked)) go_on();
  }
}

// The clocks of one node are one; other nodes' are compared with that of rank 0, by the fastest of some
// round trips.
void synchronise_clock(const Communicator &communicator) {
  constexpr int rounds = 20;
  const MPI_Comm comm = communicator.stamps;
  const auto ask = [&](int tag) {
    Moment best = 0, shortest = INT64_MAX;
    for (int i = 0; i < rounds; i++) {
      const Moment before = now();
      Moment theirs = 0;
      if (real.Send(nullptr, 0, MPI_BYTE, 0, tag, comm) != MPI_SUCCESS ||
          real.Recv(&theirs, sizeof theirs, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return Moment{0};
      const Moment after = now();
      if (after - before < shortest) {
        shortest = after - before;
        best = theirs - (before + after) / 2;
      }
    }
    return best;
  };
  const std::uint64_t first = node_of(communicator.world[0]);
  if (communicator.rank != 0) {
    if (own_node() != first) shift_clock(ask(1));
    return;
  }
  for (std::size_t rank = 1; rank < communicator.world.size(); rank++)
    for (int i = 0; i < rounds && node_of(communicator.world[rank]) != first; i++) {
      const int asks = static_cast<int>(rank);
      real.Recv(nullptr, 0, MPI_BYTE, asks, 1, comm, MPI_STATUS_IGNORE);
      const Moment mine = now();
      real.Send(&mine, sizeof mine, MPI_BYTE, asks, 1, comm);
    }
}

} // namespace haloscope::inject
