// Cost of the shm library for a rank that exchanges with its two neighbours in a ring of any number of ranks.
// Prints a line per rank: wall-clock and processor seconds of MPI_Init, KiB of page tables, KiB of its own
// shared memory, and the number of ranks whose shared memory it has touched.
//
//   scale BYTES ROUNDS
#include <mpi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace {

constexpr int columns = 5;

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool is_arena(const std::string &name) { return name.find("haloscope-arena") != std::string::npos; }

// The arena of this process is among its open files.
std::optional<struct stat> own_arena() {
  std::error_code gone;
  for (const auto &entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    struct stat found{};
    const std::string name = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && is_arena(name) && stat(entry.path().c_str(), &found) == 0) return found;
  }
  return {};
}

// The word of a line with this index, from 0, if it is a number.
std::optional<unsigned long long> number(std::string_view line, int index) {
  constexpr std::string_view blanks = " \t";
  for (int i = 0; i < index; i++) {
    line.remove_prefix(std::min(line.find_first_of(blanks), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  }
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  unsigned long long found = 0;
  const auto [next, error] = std::from_chars(word.data(), word.data() + word.size(), found);
  if (error != std::errc{} || next != word.data() + word.size()) return {};
  return found;
}

// The number of other arenas with pages in the page tables of this process.
int touched(ino_t own) {
  std::ifstream file{"/proc/self/smaps"};
  bool other = false;
  int found = 0;
  for (std::string line; std::getline(file, line);) {
    if (const auto file_number = number(line, 4)) // only of a line that begins a mapping
      other = is_arena(line) && *file_number != own;
    else if (other && line.starts_with("Rss:"))
      found += number(line, 1).value_or(0) > 0 ? 1 : 0;
  }
  return found;
}

double page_tables() {
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmPTE:")) return static_cast<double>(number(line, 1).value_or(0));
  return 0;
}

// Exchanges with two neighbours only.
void exchange(int bytes, int rounds, int rank, int ranks) {
  char *from = nullptr, *to = nullptr;
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, static_cast<void *>(&from));
  MPI_Alloc_mem(bytes, MPI_INFO_NULL, static_cast<void *>(&to));
  for (int i = 0; i < rounds; i++) {
    std::array<MPI_Request, 2> requests{};
    std::memset(from, (rank + i) % 100, static_cast<std::size_t>(bytes));
    MPI_Irecv(to, bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, requests.data());
    MPI_Isend(from, bytes, MPI_BYTE, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    if (to[bytes - 1] != (left + i) % 100) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Free_mem(from);
  MPI_Free_mem(to);
}

} // namespace

int main(int argc, char **argv) { // NOLINT(bugprone-exception-escape): then there is nothing to measure
  int rank = 0, ranks = 0;
  const double wall = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
  MPI_Init(&argc, &argv);
  std::array<double, columns> row{seconds(CLOCK_MONOTONIC) - wall,
                                  seconds(CLOCK_PROCESS_CPUTIME_ID) - processor};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  exchange(static_cast<int>(std::strtol(argv[1], nullptr, 10)),
           static_cast<int>(std::strtol(argv[2], nullptr, 10)), rank, ranks);
  if (const auto arena = own_arena()) {
    row[3] = static_cast<double>(arena->st_blocks) / 2;
    row[4] = touched(arena->st_ino);
  }
  row[2] = page_tables();
  std::vector<std::array<double, columns>> all(static_cast<std::size_t>(ranks));
  MPI_Gather(row.data(), columns, MPI_DOUBLE, all.data(), columns, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  for (const auto &of : all)
    if (rank == 0) std::printf("%.6f %.6f %.0f %.0f %.0f\n", of[0], of[1], of[2], of[3], of[4]);
  MPI_Finalize();
  return 0;
}
