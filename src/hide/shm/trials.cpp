#include "hide/shm/trials.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <vector>

namespace haloscope::shm {

namespace {

constexpr std::size_t times_wanted = 12, times_needed = 4;
constexpr std::uint32_t warm_up = 8, turns_at_most = 80;
// The number of messages until the next trial. It doubles after each trial without a change.
constexpr std::uint32_t first_rest = 1024, longest_rest = 1U << 16U;
// The shm library also costs time in ranks that wait for other things. No message's time contains that.
constexpr double least_gain = 0.95;

} // namespace

struct Trial {
  struct Times {
    std::array<std::uint64_t, times_wanted> taken{};
    std::size_t count = 0;

    void add(std::uint64_t time) noexcept {
      if (count < taken.size()) taken[count++] = time;
    }
    [[nodiscard]] double median() noexcept {
      const std::span<std::uint64_t> all{taken.data(), count};
      std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(count / 2));
      return static_cast<double>(all[count / 2]);
    }
  };

  std::array<Times, 2> times;
  std::uint32_t turns = 0;
  std::uint32_t rest = 0, next_rest = first_rest; // while it rests, `faster` carries all
  Way faster = Way::shm;
};

namespace {

enum class NoteState : std::uint8_t { free, open, held, answered };
constexpr std::uint64_t note_word(std::uint64_t sequence, std::uint64_t to, NoteState state) noexcept {
  return sequence << 32U | to << 2U | static_cast<std::uint64_t>(state);
}
constexpr std::uint64_t with_state(std::uint64_t word, NoteState state) noexcept {
  return (word & ~3ULL) | static_cast<std::uint64_t>(state);
}
constexpr NoteState state_of_note(std::uint64_t word) noexcept { return static_cast<NoteState>(word & 3U); }
constexpr std::uint64_t receiver_of(std::uint64_t word) noexcept { return (word & 0xFFFF'FFFFU) >> 2U; }

constexpr std::size_t sizes_apart = 32; // each twice the one before
using Trials = std::array<std::array<Trial, sizes_apart>, 2>;
std::vector<std::unique_ptr<Trials>> of_peers;  // NOLINT(bugprone-throwing-static-initialization)
std::array<Trial *, note_count> noted{};        // whose notes those on our desk are
std::array<std::uint64_t, note_count> opened{}; // as they were
std::array<Posting, note_count> postings{};
std::uint64_t notes_made = 0;
constexpr std::size_t none = note_count;
thread_local std::size_t announced = none; // by this thread, and not posted yet

Trial &trial_of(std::size_t peer, std::uint64_t bytes, bool has_holes) {
  if (of_peers.size() != shm.node->ranks()) of_peers.resize(shm.node->ranks());
  if (of_peers[peer] == nullptr) of_peers[peer] = std::make_unique<Trials>();
  const auto size = std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), sizes_apart - 1);
  return (*of_peers[peer])[has_holes ? 1 : 0][size];
}

void conclude(Trial &trial) noexcept {
  auto &[ours, mpis] = trial.times;
  Way faster = trial.faster;
  if (ours.count >= times_needed && mpis.count >= times_needed)
    faster = ours.median() <= least_gain * mpis.median() ? Way::shm : Way::mpi;
  trial.next_rest = faster == trial.faster ? std::min(2 * trial.next_rest, longest_rest) : first_rest;
  trial.rest = trial.next_rest;
  trial.faster = faster;
  trial.turns = 0;
  trial.times = {};
}

// Takes what a receiver has answered; returns whether the note is free.
bool collect(std::size_t index) {
  Note &note = shm.node->desk().notes[index];
  const NoteState state = state_of_note(note.state.load(std::memory_order_acquire));
  if (state == NoteState::answered) {
    const Arrival arrival = note.arrival;
    note.state.store(0, std::memory_order_relaxed);
    add_time(*noted[index], Way::mpi, postings[index], arrival);
    return true;
  }
  return state == NoteState::free;
}

void collect_all() {
  for (std::size_t i = 0; i < note_count; i++) collect(i);
}

} // namespace

Turn next_turn(std::size_t peer, std::uint64_t bytes, bool has_holes) {
  if (shm.options.protocol != Choice::dynamic || !shm.options.measure) return {};
  Trial &trial = trial_of(peer, bytes, has_holes);
  if (trial.rest == 0) collect_all();
  if (trial.rest == 0 && trial.turns >= turns_at_most) conclude(trial);
  if (trial.rest > 0) {
    trial.rest--;
    return {trial.faster, true, nullptr};
  }
  // The sequence of Thue and Morse: even if every second or fourth message is special, both ways get the same
  // number of them.
  const Way way = std::popcount(trial.turns++) % 2 == 0 ? Way::shm : Way::mpi;
  return {way, false, trial.turns > warm_up ? &trial : nullptr};
}

void announce(Trial &trial, std::size_t peer, int tag, std::uint64_t bytes) {
  Desk &desk = shm.node->desk();
  const std::size_t index = notes_made % note_count;
  Note &note = desk.notes[index];
  // An unanswered note belongs to a receive that reports no time.
  if (!collect(index) && !note.state.compare_exchange_strong(opened[index], 0, std::memory_order_acq_rel))
    return;
  noted[index] = &trial;
  note.bytes = bytes;
  note.tag = tag;
  postings[index] = {now(), 0};
  announced = index;
  opened[index] = note_word(++notes_made & 0xFFFF'FFFFU, peer, NoteState::open);
  note.state.store(opened[index], std::memory_order_release);
  desk.noted.fetch_or(1U << index, std::memory_order_relaxed);
}

bool is_announced() noexcept { return announced != none; }

void announced_is_posted() noexcept {
  if (announced != none) postings[announced].posted = now();
  announced = none;
}

void add_time(Trial &trial, Way way, const Posting &posting, const Arrival &arrival) {
  if (posting.posted == 0 || arrival.asked == 0 || trial.rest > 0) return;
  const Moment both_there = std::max(posting.posted, Moment{arrival.asked});
  const Moment taken = posting.posted - posting.begun + std::max<Moment>(arrival.there - both_there, 0);
  trial.times[static_cast<std::size_t>(way)].add(static_cast<std::uint64_t>(taken));
  if (trial.times[0].count == times_wanted && trial.times[1].count == times_wanted) conclude(trial);
}

void answer(MPI_Comm comm, const MPI_Status &status, std::uint64_t bytes, const Arrival &arrival) {
  const int from = shm.node->find(comm, status.MPI_SOURCE);
  if (from < 0) return;
  Desk &desk = *shm.node->peer(static_cast<std::size_t>(from)).desk;
  // The eldest of its tag and size: a guess, right or not, that only a time depends on.
  Note *eldest = nullptr;
  std::uint64_t found = ~0ULL;
  for (std::uint32_t left = desk.noted.load(std::memory_order_acquire); left != 0; left &= left - 1) {
    Note &note = desk.notes[std::countr_zero(left)];
    std::uint64_t seen = note.state.load(std::memory_order_acquire);
    if (state_of_note(seen) != NoteState::open || receiver_of(seen) != shm.node->me() || seen > found)
      continue;
    if (!note.state.compare_exchange_strong(seen, with_state(seen, NoteState::held),
                                            std::memory_order_acq_rel))
      continue;
    const bool suits = note.tag == status.MPI_TAG && note.bytes == bytes;
    if (!suits) {
      note.state.store(seen, std::memory_order_release);
      continue;
    }
    if (eldest != nullptr) eldest->state.store(found, std::memory_order_release);
    eldest = &note;
    found = seen;
  }
  if (eldest == nullptr) return;
  desk.noted.fetch_and(~(1U << static_cast<unsigned>(eldest - desk.notes)), std::memory_order_relaxed);
  eldest->arrival = arrival;
  eldest->state.store(with_state(found, NoteState::answered), std::memory_order_release);
}

} // namespace haloscope::shm
