#include "watch/collecting/channel.hpp"

#include "watch/counting/state.hpp"

#include <algorithm>
#include <sched.h>
#include <unistd.h>
#include <utility>

namespace haloscope::watch {

namespace {

constexpr int tag = 1;

int bytes_of(const Words &words) { return static_cast<int>(words.size() * sizeof words.front()); }

} // namespace

void Channel::send(const Words &words, int to) const {
  Words first{words.size()};
  const auto rest = words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), at_once));
  first.insert(first.end(), words.begin(), rest);
  send_buffer(std::move(first), to);
  if (rest != words.end()) send_buffer({rest, words.end()}, to);
}

Words Channel::receive(int from) const {
  Words first = receive_buffer(1 + at_once, from);
  const std::uint64_t count = first.front();
  first.erase(first.begin());
  first.resize(std::min<std::uint64_t>(count, at_once));
  if (count <= at_once) return first;
  const Words rest = receive_buffer(count - at_once, from);
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// Buffers of messages that are given up stay: MPI may still use them.
void Channel::send_buffer(Words words, int to) const {
  auto kept = std::make_unique<Words>(std::move(words));
  MPI_Request request = MPI_REQUEST_NULL;
  real.Isend(kept->data(), bytes_of(*kept), MPI_BYTE, to, tag, comm_, &request);
  wait(request, to, kept);
}

Words Channel::receive_buffer(std::size_t room, int from) const {
  auto kept = std::make_unique<Words>(room);
  MPI_Request request = MPI_REQUEST_NULL;
  real.Irecv(kept->data(), bytes_of(*kept), MPI_BYTE, from, tag, comm_, &request);
  wait(request, from, kept);
  return std::move(*kept);
}

// Ranks that share a core must not keep it from the rank that they wait for. The sleep gets longer with the
// waiting time, but is never more than a fraction of it. The time that a clock goes back does not count.
void Channel::wait(MPI_Request request, int other, std::unique_ptr<Words> &buffer) const {
  std::uint64_t waited = 0, last = nanoseconds();
  for (;;) {
    int done = 0;
    real.Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    const std::uint64_t now = nanoseconds();
    if (now > last) waited += now - last;
    last = now;
    if (1e-9 * static_cast<double>(waited) > patience_) {
      [[maybe_unused]] const Words *kept = buffer.release();
      throw LateRank{other};
    }
    if (waited < 200'000)
      sched_yield();
    else
      usleep(static_cast<useconds_t>(std::min<std::uint64_t>(waited / 8'000, 5'000)));
  }
}

} // namespace haloscope::watch
