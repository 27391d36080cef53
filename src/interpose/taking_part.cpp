#include "interpose/taking_part.hpp"

#include "interpose/library.hpp"
#include "interpose/moment.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace haloscope::interpose {

namespace {

constexpr Moment patience_for_child = 15 * second; // MPI_Init keeps ranks together already
constexpr int largest_tag = 32767;                 // that every MPI has

// Returns false at the end.
bool rest(Moment begin, Moment end) noexcept {
  const Moment now = monotonic_time();
  if (now > end) return false;
  if (now - begin < second / 5000)
    sched_yield(); // the others may need this core
  else
    usleep(static_cast<useconds_t>(std::min<Moment>((now - begin) / 8000, 5000)));
  return true;
}

// The ranks of this node that have the library: each has a socket with a name, without a file, while it asks.
// Names have the launch, as ranks of other launches may ask at the same time.
class Neighbors {
public:
  Neighbors(Part part, int rank, int size)
      : count_(count_from_launcher(rank, size)),
        prefix_("haloscope-" + std::to_string(static_cast<int>(part)) + "-" + name_launch() + "-" +
                std::to_string(size) + "-") {
    const std::string name = prefix_ + std::to_string(rank) + "-" + std::to_string(getpid());
    sockaddr_un address{AF_UNIX, {}};
    std::ranges::copy(name, address.sun_path + 1);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || bind(socket_, reinterpret_cast<const sockaddr *>(&address), bytes) != 0) count_ = 0;
  }
  ~Neighbors() {
    if (socket_ >= 0) close(socket_);
  }
  Neighbors(const Neighbors &) = delete;
  Neighbors &operator=(const Neighbors &) = delete;

  // Returns false if one is missing at the end, true if none is missing or nothing is known.
  [[nodiscard]] bool await(Moment end) const {
    for (const Moment begin = monotonic_time();;) {
      if (count_ < 2) return true;
      const std::optional<int> found = find();
      if (!found || *found >= count_) return true;
      if (!rest(begin, end)) return false;
    }
  }
  [[nodiscard]] int count() const noexcept { return count_; }

private:
  // A launcher inside a rank of a different launch has inherited variables: they are those of another rank.
  static int count_from_launcher(int rank, int size) {
    const auto number = [](const char *name) {
      const char *value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): inside MPI_Init
      return value == nullptr ? -1 : static_cast<int>(std::strtol(value, nullptr, 10));
    };
#if defined(HALOSCOPE_ABI_OPENMPI)
    constexpr std::array names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"};
#else
    constexpr std::array names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"};
#endif
    return number(names[0]) == rank && number(names[1]) == size ? number(names[2]) : 0;
  }
  // Open MPI and Slurm name each launch for PMIx. With PMI, one process started all ranks of a node.
  static std::string name_launch() {
    const char *name = std::getenv("PMIX_NAMESPACE"); // NOLINT(concurrency-mt-unsafe): inside MPI_Init
    return name == nullptr ? find_starter() : std::to_string(std::hash<std::string_view>{}(name));
  }
  // Returns the process that started the ranks, maybe by a script or debugger; empty if it is unknown.
  static std::string find_starter() {
    std::string process = std::to_string(getppid());
    for (std::string line; std::getline(std::ifstream{"/proc/" + process + "/stat"}, line);) {
      const std::size_t begin = line.find('(') + 1, end = line.rfind(')');
      const std::string_view name = std::string_view{line}.substr(begin, end - begin);
      if (name == "hydra_pmi_proxy" || name == "slurmstepd") return process;
      std::string state;
      if (!(std::istringstream{line.substr(end + 1)} >> state >> process)) break; // the parent's
    }
    return "";
  }
  [[nodiscard]] std::optional<int> find() const {
    std::ifstream sockets{"/proc/net/unix"};
    std::optional<int> found;
    for (std::string line; std::getline(sockets, line);)
      found = found.value_or(0) + (line.find('@' + prefix_) != std::string::npos ? 1 : 0);
    return found;
  }

  int count_, socket_ = -1; // count: 0 or less if unknown
  std::string prefix_;
};

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
// ends would break later ones of the program. A message to such a rank has a tag that no program uses. Since
// 4.1, MPICH ends a program in MPI_Finalize if a message was not received: so a rank sends none if ranks of
// its own node are missing.
bool meet(int tag, bool all) noexcept {
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
  const bool speaks = all;
  for (std::size_t i = 0; i < count; i++)
    all = words[i].await(begin + patience_for_child + static_cast<Moment>(i) * second) && words[i].is_yes() &&
          all;
  if (rank != 0 && speaks) {
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

bool ask(Part part, int rank, int size) noexcept {
  const int tag = largest_tag - static_cast<int>(part);
  try {
    const Neighbors neighbors{part, rank, size};
    const bool all = neighbors.await(monotonic_time() + patience_for_child);
    return (all || neighbors.count() < size) && meet(tag, all);
  } catch (...) { // no memory for names
    return meet(tag, true);
  }
}

} // namespace

bool do_all_ranks_take_part(Part part, const char *what) noexcept {
  int rank = 0, size = 0;
  real.Comm_size(MPI_COMM_WORLD, &size);
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  if (size == 1 || ask(part, rank, size)) return true;
  try {
    if (rank == 0 || rank == size - 1)
      complain("not all ranks have Haloscope's library, so " + std::string{what} +
               "; copy it to all nodes: set HALOSCOPE_CACHE to a directory that all nodes share");
  } catch (...) { // NOLINT(bugprone-empty-catch): no memory to say it
  }
  return false;
}

} // namespace haloscope::interpose
