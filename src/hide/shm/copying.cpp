#include "hide/shm/copying.hpp"

#include "hide/shm/habits.hpp"
#include "hide/shm/registering.hpp"
#include "hide/shm/waiting.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sched.h>
#include <sys/uio.h>
#include <vector>

namespace haloscope::shm {

namespace {

// The work for a helper. It does not change while there is a copy to it.
struct Work {
  std::uint32_t job, from;
  bool from_mapped, to_mapped;
  std::uint64_t sequence, bytes, chunk, from_place, to_place;

  [[nodiscard]] Channels::Tasks::Task packed() const noexcept {
    return {job | std::uint64_t{from} << 16U | std::uint64_t{from_mapped} << 48U |
                std::uint64_t{to_mapped} << 49U,
            sequence,
            bytes,
            chunk,
            from_place,
            to_place};
  }
  static Work unpacked(const std::uint64_t *words) noexcept {
    return {static_cast<std::uint32_t>(words[0] & 0xFFFFU),
            static_cast<std::uint32_t>(words[0] >> 16U),
            (words[0] >> 48U & 1U) != 0,
            (words[0] >> 49U & 1U) != 0,
            words[1],
            words[2],
            words[3],
            words[4],
            words[5]};
  }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return (bytes + chunk - 1) / chunk; }
};

// The bits of word `word` of `done`, if all of `chunks` are.
std::uint64_t all_bits(std::uint64_t chunks, std::size_t word) noexcept {
  const std::uint64_t count = chunks - 64 * word;
  return count >= 64 ? ~0ULL : (1ULL << count) - 1;
}

bool transfer_by_kernel(std::size_t rank, void *here, std::uint64_t there, std::size_t bytes, bool writes) {
  const auto process = static_cast<pid_t>(shm.node->peer(rank).process);
  while (bytes > 0) {
    const iovec mine{here, bytes};
    const iovec other{pointer_to(there), bytes};
    const ssize_t done = writes ? process_vm_writev(process, &mine, 1, &other, 1, 0)
                                : process_vm_readv(process, &mine, 1, &other, 1, 0);
    if (done <= 0) return false; // it is no more
    here = static_cast<std::byte *>(here) + done;
    there += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

// Returns where this process can read it; nullptr if only the kernel can.
std::byte *reach(std::size_t rank, std::uint64_t place, bool mapped) noexcept {
  if (mapped) return shm.node->at(rank, place);
  return rank == shm.node->me() ? pointer_to(place) : nullptr;
}

// Lets the MPI library go on with messages to other nodes meanwhile.
void copy_in_pieces(std::byte *to, const std::byte *from, std::size_t bytes) {
  constexpr std::size_t piece = std::size_t{128} << 10U;
  if (!shm.node->has_other_nodes()) {
    copy_bytes(to, from, bytes);
    return;
  }
  for (std::size_t offset = 0; offset < bytes; offset += piece) {
    if (offset > 0) nudge();
    copy_bytes(to + offset, from + offset, std::min(piece, bytes - offset));
  }
}

void copy_part(const Work &work, std::size_t owner, std::uint64_t offset, std::size_t bytes) {
  std::byte *from = reach(work.from, work.from_place, work.from_mapped);
  std::byte *to = reach(owner, work.to_place, work.to_mapped);
  if (from != nullptr && to != nullptr)
    copy_in_pieces(to + offset, from + offset, bytes);
  else if (to != nullptr)
    transfer_by_kernel(work.from, to + offset, work.from_place + offset, bytes, false);
  else
    transfer_by_kernel(owner, from + offset, work.to_place + offset, bytes, true);
}

// The kernel may copy between processes.
bool may_attach() noexcept { return shm.node->may_attach() && shm.options.cma != Attach::never; }

bool can_do(const Work &work, std::size_t owner) noexcept {
  const bool from = reach(work.from, work.from_place, work.from_mapped) != nullptr;
  const bool to = reach(owner, work.to_place, work.to_mapped) != nullptr;
  return (from && to) || ((from || to) && may_attach());
}

// Claims chunk after chunk until there is none left. True if there was one.
bool take_part(const Work &work, std::size_t owner) {
  Job &job = shm.node->peer(owner).desk->jobs[work.job];
  const std::uint64_t chunks = work.chunks();
  bool some = false;
  std::uint64_t seen = job.next.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t index = seen & 0xFFFFU;
    if (seen >> 16U != work.sequence || index >= chunks) return some;
    if (!job.next.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    if (!some) job.helpers.fetch_or(1ULL << shm.node->me() % 64, std::memory_order_relaxed);
    some = true;
    const std::uint64_t offset = index * work.chunk;
    copy_part(work, owner, offset, std::min(work.chunk, work.bytes - offset));
    job.done[index / 64].fetch_or(1ULL << index % 64, std::memory_order_release);
    seen = job.next.load(std::memory_order_acquire);
  }
}

constexpr std::size_t size_classes = 64;
using Habits = std::array<Habit, size_classes>;
std::vector<std::unique_ptr<Habits>> habits; // of those that sent something
std::uint32_t next_job = 0;
std::array<std::uint64_t, job_count> sequences{};
std::vector<std::uint32_t> expected;  // copies that a rank may ask of us
std::vector<std::uint64_t> expecting; // a bit for each rank that may

// Waits until all chunks are there. Those of a helper that died are copied again.
void wait_for_all(const Work &work, Job &job) {
  constexpr Moment suspicious = 50'000'000;
  const std::uint64_t chunks = work.chunks();
  const std::size_t me = shm.node->me();
  Moment since = 0;
  std::size_t first = 0; // of the words before it all bits are set
  const auto left_in = [&](std::size_t word) {
    return all_bits(chunks, word) & ~job.done[word].load(std::memory_order_acquire);
  };
  for (unsigned spins = 0; 64 * first < chunks; spins++) {
    if (left_in(first) == 0) {
      first++;
      continue;
    }
    if (shm.node->crowded())
      sched_yield();
    else
      pause();
    if (spins % 1024 != 1023) continue;
    if (since == 0) since = now();
    if (now() - since < suspicious) continue;
    since = now();
    bool died = false;
    for (std::size_t i = 0; i < shm.node->ranks(); i++) died = died || (i != me && !shm.node->lives(i));
    if (!died) continue;
    for (std::size_t word = first; 64 * word < chunks; word++)
      for (std::uint64_t left = left_in(word); left != 0; left &= left - 1) {
        const auto bit = static_cast<unsigned>(std::countr_zero(left));
        const std::uint64_t offset = (64 * word + bit) * work.chunk;
        copy_part(work, me, offset, std::min(work.chunk, work.bytes - offset));
        job.done[word].fetch_or(1ULL << bit, std::memory_order_release);
      }
  }
}

} // namespace

const char *name(Protocol protocol) noexcept {
  switch (protocol) {
  case Protocol::get:
    return "GET";
  case Protocol::coop:
    return "COOP";
  case Protocol::steal:
    return "STEAL";
  case Protocol::escape:
    return "ESCAPE";
  case Protocol::ahead:
    return "AHEAD";
  case Protocol::pack:
    return "PACK";
  }
  return "";
}

Place own_place(const void *address, std::size_t bytes) noexcept {
  const auto place = shared_place(address, bytes);
  return {shm.node->me(), place.value_or(reinterpret_cast<std::uintptr_t>(address)), place.has_value()};
}

bool is_gone(const Place &place) noexcept {
  if (place.mapped || place.rank == shm.node->me()) return false;
  std::byte one{};
  return !transfer_by_kernel(place.rank, &one, place.place, 1, false) && errno == ESRCH;
}

// Data that a different core has written comes from its cache. Several prefetched streams hide that latency.
void copy_bytes(std::byte *to, const std::byte *from, std::size_t bytes) noexcept {
  constexpr std::size_t streams = 4, unit = 64, ahead = 512, least = std::size_t{64} << 10U;
  if (bytes < least) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t length = bytes / streams / unit * unit;
  for (std::size_t i = 0; i < length; i += unit)
    for (std::size_t stream = 0; stream < streams; stream++) {
      const std::size_t offset = stream * length + i;
      __builtin_prefetch(from + offset + ahead, 0);
      __builtin_prefetch(to + offset + ahead, 1);
      std::memcpy(to + offset, from + offset, unit);
    }
  std::memcpy(to + streams * length, from + streams * length, bytes - streams * length);
}

Copied fetch(std::byte *to, const Place &from, std::size_t bytes, bool receiving) {
  Node &node = *shm.node;
  if (habits.size() != node.ranks()) habits.resize(node.ranks());
  if (!habits[from.rank]) habits[from.rank] = std::make_unique<Habits>();
  Habit &habit = (*habits[from.rank])[static_cast<std::size_t>(std::bit_width(bytes)) % size_classes];
  const Place mine = own_place(to, bytes);
  const bool helpers = (from.mapped && mine.mapped) || may_attach();
  const Plan chosen = helpers ? plan(habit, bytes, from.rank, receiving) : Plan{Protocol::get, bytes};
  Work work{0,
            static_cast<std::uint32_t>(from.rank),
            from.mapped,
            mine.mapped,
            0,
            bytes,
            chosen.chunk,
            from.place,
            mine.place};
  if (chosen.protocol == Protocol::get || chosen.chunk >= bytes) {
    copy_part(work, node.me(), 0, bytes);
    return {};
  }
  work.job = next_job++ % job_count;
  work.sequence = ++sequences[work.job];
  Job &job = node.desk().jobs[work.job];
  for (std::size_t word = 0; 64 * word < work.chunks(); word++)
    job.done[word].store(0, std::memory_order_relaxed);
  job.helpers.store(0, std::memory_order_relaxed);
  job.next.store(work.sequence << 16U, std::memory_order_release);
  if (chosen.protocol == Protocol::steal) {
    node.channels().own_tasks().push(work.packed());
    node.channels().offering().set(node.me());
  } else {
    Control clear_to_send;
    const auto words = work.packed();
    for (std::size_t i = 0; i < words.size(); i++) clear_to_send.words[i] = words[i];
    node.channels().send(static_cast<int>(from.rank), clear_to_send); // a full queue: we copy alone
  }
  take_part(work, node.me());
  wait_for_all(work, job);
  if (chosen.protocol == Protocol::steal) node.channels().offering().clear(node.me());
  const std::uint64_t copiers = job.helpers.load(std::memory_order_relaxed);
  learn(habit, copiers, from.rank);
  return {chosen.protocol, static_cast<std::uint32_t>(work.chunks()),
          static_cast<std::uint32_t>(std::popcount(copiers) - 1)};
}

void expect_from(std::size_t rank) noexcept {
  if (expected.size() != shm.node->ranks()) {
    expected.resize(shm.node->ranks());
    expecting.resize((expected.size() + 63) / 64);
  }
  if (expected[rank]++ == 0) expecting[rank / 64] |= 1ULL << rank % 64;
}

void expect_no_more_from(std::size_t rank) noexcept {
  if (--expected[rank] == 0) expecting[rank / 64] &= ~(1ULL << rank % 64);
}

namespace {

bool help_receiver(std::size_t rank) {
  Control asked;
  if (!shm.node->channels().receive(static_cast<int>(rank), asked)) return false;
  const Work work = Work::unpacked(asked.words);
  return can_do(work, rank) && take_part(work, rank);
}

// The last of its tasks: those before it were over before we looked.
bool help_offering(std::size_t rank) {
  using Tasks = Channels::Tasks;
  const Tasks &tasks = shm.node->channels().tasks_of(static_cast<int>(rank));
  Tasks::Task task;
  for (;;) {
    const Tasks::Found found = tasks.pop(shm.node->peer(rank).cursor, task);
    if (found == Tasks::Found::nothing) return false;
    if (found == Tasks::Found::overwritten) continue;
    const Work work = Work::unpacked(task.data());
    if (can_do(work, rank) && take_part(work, rank)) return true;
  }
}

} // namespace

bool help() {
  for (std::size_t i = 0; i < expecting.size(); i++)
    for (std::uint64_t left = expecting[i]; left != 0; left &= left - 1)
      if (help_receiver(i * 64 + static_cast<std::size_t>(std::countr_zero(left)))) return true;
  return shm.node->nearness().visit(shm.node->channels().offering(), help_offering);
}

} // namespace haloscope::shm
