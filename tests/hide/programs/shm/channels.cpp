// Control messages between all ranks of a node, tasks of each rank for all others, and the mask of free
// ranks.
#include "hide/halo/channels.hpp"
#include "hide/halo/segment.hpp"

#include <cstdio>
#include <sched.h>
#include <string>

namespace {

using haloscope::halo::Channels;
using haloscope::halo::Control;
using haloscope::halo::Segment;

constexpr std::uint64_t messages = 2000;

[[noreturn]] void fail(const char *what) {
  std::printf("channels: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// Channels in a separate segment.
struct Shared {
  Segment segment;
  Channels channels;

  Shared(int me, int ranks, std::size_t pairs)
      : segment(made(static_cast<std::size_t>(ranks), pairs)),
        channels(regions(segment, ranks), static_cast<std::size_t>(me)) {
    MPI_Barrier(MPI_COMM_WORLD);
  }

private:
  static Segment made(std::size_t ranks, std::size_t pairs) {
    auto found = Segment::make(MPI_COMM_WORLD, Channels::bytes(ranks, pairs));
    if (!found) fail("no memory can be shared");
    return std::move(*found);
  }
  static std::vector<std::span<std::byte>> regions(const Segment &segment, int ranks) {
    std::vector<std::span<std::byte>> found;
    found.reserve(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; i++) found.push_back(segment.region(i));
    return found;
  }
};

// Each rank sends to all, itself included, and gets all in order.
void control(Channels &channels, int me, int ranks) {
  std::vector<std::uint64_t> sent(static_cast<std::size_t>(ranks)), got(sent.size());
  for (std::uint64_t left = 2 * messages * sent.size(); left > 0;) {
    const std::uint64_t before = left;
    for (int other = 0; other < ranks; other++) {
      const auto i = static_cast<std::size_t>(other);
      const Control message{
          static_cast<std::uint32_t>(me), static_cast<std::uint32_t>(other), {sent[i], ~sent[i]}};
      if (sent[i] < messages && channels.send(other, message)) {
        sent[i]++;
        left--;
      }
      Control found;
      if (!channels.receive(other, found)) continue;
      if (found.kind != i || found.tag != static_cast<std::uint32_t>(me) || found.words[0] != got[i] ||
          found.words[1] != ~got[i])
        fail("a message is wrong");
      got[i]++;
      left--;
    }
    if (left == before) sched_yield();
  }
}

// Each rank reads the tasks of the next one, until the last.
void tasks(Channels &channels, int me, int ranks) {
  const auto &others = channels.tasks_of((me + 1) % ranks);
  const auto owner = static_cast<std::uint64_t>((me + 1) % ranks);
  Channels::Tasks::Cursor cursor;
  Channels::Tasks::Task task{};
  for (std::uint64_t i = 0; i < messages || cursor.next < messages;) {
    if (i < messages) {
      channels.own_tasks().push({i, static_cast<std::uint64_t>(me), ~i, i, i, i});
      i++;
    }
    const std::uint64_t expected = cursor.next;
    const auto found = others.pop(cursor, task);
    if (found == Channels::Tasks::Found::task &&
        (task[0] != expected || task[1] != owner || task[2] != ~expected))
      fail("a task is wrong");
    if (found == Channels::Tasks::Found::nothing) sched_yield();
  }
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int me = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Shared wide{me, ranks, static_cast<std::size_t>(ranks)};
  auto channels = wide.channels;
  control(channels, me, ranks);
  tasks(channels, me, ranks);
  channels.free().set(static_cast<std::size_t>(me));
  MPI_Barrier(MPI_COMM_WORLD);
  if (channels.free().count() != static_cast<std::size_t>(ranks)) fail("not all are free");
  // A segment with space for one queue has no second one.
  const Shared small{me, ranks, 1};
  auto narrow = small.channels;
  if (!narrow.send(me, {})) fail("there is no first queue");
  MPI_Barrier(MPI_COMM_WORLD);
  if (ranks > 1 && narrow.send((me + 1) % ranks, {})) fail("a pool gives more than it has");
  if (me == 0) std::printf("right\n");
  MPI_Finalize();
  return 0;
}
