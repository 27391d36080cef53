#include "interpose/taking_part.hpp"

#include "interpose/library.hpp"
#include "interpose/moment.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <sched.h>
#include <string>
#include <unistd.h>

namespace haloscope::interpose {

namespace {

constexpr Moment patience_for_child = 15 * second; // MPI_Init keeps ranks together already
constexpr int largest_tag = 32767;                 // that every MPI has

// A word from a rank, which may never come.
class Word {
public:
  void expect(int from, int tag) noexcept {
    is_expected_ = real.Irecv(&said_, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request_) == MPI_SUCCESS;
  }
  // Returns whether it came before the end; otherwise it is no longer expected.
  bool await(Moment end) noexcept {
    for (const Moment begin = monotonic_time(); is_expected_ && !has_come_;) {
      int done = 0;
      if (real.Test(&request_, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
      has_come_ = done != 0;
      if (!has_come_ && !rest(begin, end)) break;
    }
    if (is_expected_ && !has_come_) give_up();
    return has_come_;
  }
  [[nodiscard]] bool has_come() const noexcept { return has_come_; }
  [[nodiscard]] bool is_yes() const noexcept { return has_come_ && said_ == 1; }

private:
  // Returns false at the end.
  static bool rest(Moment begin, Moment end) noexcept {
    const Moment now = monotonic_time();
    if (now > end) return false;
    if (now - begin < second / 5000)
      sched_yield(); // the others may need this core
    else
      usleep(static_cast<useconds_t>(std::min<Moment>((now - begin) / 8000, 5000)));
    return true;
  }
  void give_up() noexcept {
    MPI_Status status{};
    int cancelled = 0;
    if (real.Cancel(&request_) != MPI_SUCCESS || real.Wait(&request_, &status) != MPI_SUCCESS) return;
    has_come_ = real.Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled == 0;
  }

  MPI_Request request_ = MPI_REQUEST_NULL;
  int said_ = 0;
  bool is_expected_ = false, has_come_ = false;
};

void say(int word, int to, int tag) noexcept { real.Send(&word, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }

// Messages along a binomial tree, and no collective: on a rank that has no library, a collective that nobody
// ends would break later ones of the program. A message to such a rank has a tag that no program uses.
bool meet(int tag) noexcept {
  int rank = 0, size = 0;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  real.Comm_size(MPI_COMM_WORLD, &size);
  std::array<Word, 31> words;
  std::array<int, 31> children{};
  std::size_t count = 0;
  unsigned step = 1;
  for (; step < static_cast<unsigned>(size) && (static_cast<unsigned>(rank) & step) == 0; step *= 2) {
    const unsigned child = static_cast<unsigned>(rank) + step;
    if (child >= static_cast<unsigned>(size)) continue;
    children[count] = static_cast<int>(child);
    words[count++].expect(static_cast<int>(child), tag);
  }
  // Those that have more ranks below them wait longer: their children may be waiting.
  const Moment begin = monotonic_time();
  bool all = true;
  for (std::size_t i = 0; i < count; i++)
    all = words[i].await(begin + patience_for_child + static_cast<Moment>(i) * second) && words[i].is_yes() &&
          all;
  if (rank != 0) {
    const int parent = rank - static_cast<int>(step);
    Word answer;
    answer.expect(parent, tag);
    say(all ? 1 : 0, parent, tag);
    // The parent, and those above it, may first wait for others, at most as long as the root.
    const auto levels = static_cast<Moment>(std::bit_width(static_cast<unsigned>(size)));
    all = answer.await(monotonic_time() + 2 * patience_for_child + levels * second) && answer.is_yes();
  }
  for (std::size_t i = 0; i < count; i++)
    if (words[i].has_come()) say(all ? 1 : 0, children[i], tag);
  return all;
}

} // namespace

bool do_all_ranks_take_part(Part part, const char *what) noexcept {
  int rank = 0, size = 0;
  real.Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1 || meet(largest_tag - static_cast<int>(part))) return true;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    if (rank == 0 || rank == size - 1)
      complain("not all ranks have Haloscope's library, so " + std::string{what} +
               "; copy it to all nodes: set HALOSCOPE_CACHE to a directory that all nodes share");
  } catch (...) { // NOLINT(bugprone-empty-catch): no memory to say it
  }
  return false;
}

} // namespace haloscope::interpose
