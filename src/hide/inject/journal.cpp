#include "injection.hpp"
#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace haloscope::inject {

namespace {

constexpr int rows_tag = 1; // nobody else sends on the stamps' communicator any more
constexpr std::size_t block = 1U << 16U;

constexpr const char *names[] = {"message", "collective", "one-sided"};

void print(std::FILE *file, int rank, const std::vector<Row> &rows) {
  for (const Row &row : rows) {
    const double time = 1e-9 * static_cast<double>(row.sent - state.begin);
    std::fprintf(file, "%d,%.9f,%s,", rank, time, names[static_cast<int>(row.what)]);
    if (row.what != What::collective) std::fprintf(file, "%d", row.partner);
    if (row.what == What::message)
      std::fprintf(file, ",%d,", row.tag);
    else
      std::fputs(",,", file);
    std::fprintf(file, "%s,%d,%d,%d,%.9g\n", row.link == 0 ? "intra" : "inter", row.regime, row.machine_state,
                 row.once, row.latency);
  }
}

// A program that was spawned has a record beside that of the one that spawned it.
std::string record() {
  const char *given = std::getenv("HALOSCOPE_INJECT_RECORD"); // NOLINT(concurrency-mt-unsafe)
  std::string path = given == nullptr ? "" : given;
  if (path.empty() || !state.spawned) return path;
  const std::size_t end = path.size() - (path.ends_with(".csv") ? 4 : 0);
  return path.insert(end, "-spawned-" + std::to_string(getpid()));
}

std::FILE *opened(const std::string &path, const char *mode) {
  std::FILE *file = std::fopen(path.c_str(), mode);
  if (file == nullptr) watch::complain(path + ": can't be written: the record of what was injected is lost");
  return file;
}

// Empty where none is to be written.
std::string complete_record() {
  const std::string path = record();
  if (!path.empty() && state.journal.left_out != 0)
    watch::complain(path + ": of rank " + std::to_string(state.world_rank) + " it holds the first " +
                    std::to_string(state.plan.journal_limit) + " latencies alone, " +
                    std::to_string(state.journal.left_out) + " followed");
  return path;
}

void close(std::FILE *file, const std::string &path) {
  if (std::fclose(file) != 0) watch::complain(path + ": not written to its end");
}

// Rank 0 takes block after block, so that it never holds another rank's whole journal.
void collect(std::FILE *file, int rank, MPI_Comm comm) {
  for (std::vector<Row> rows(block); rows.size() == block;) {
    MPI_Status status;
    int bytes = 0;
    rows.resize(block);
    real.Recv(rows.data(), static_cast<int>(block * sizeof(Row)), MPI_BYTE, rank, rows_tag, comm, &status);
    real.Get_count(&status, MPI_BYTE, &bytes);
    rows.resize(static_cast<std::size_t>(bytes) / sizeof(Row));
    print(file, rank, rows);
  }
}

void hand_on(const std::vector<Row> &rows, MPI_Comm comm) {
  for (std::size_t first = 0;; first += block) {
    const std::size_t left = rows.size() - first, count = left < block ? left : block;
    real.Send(rows.data() + first, static_cast<int>(count * sizeof(Row)), MPI_BYTE, 0, rows_tag, comm);
    if (count < block) return;
  }
}

} // namespace

void write_journal() {
  const std::string path = complete_record();
  if (path.empty()) return;
  const MPI_Comm comm = communicator_of(MPI_COMM_WORLD)->stamps;
  if (state.world_rank != 0) {
    hand_on(state.journal.rows, comm);
    return;
  }
  std::FILE *file = opened(path, "we");
  if (file == nullptr) file = std::fopen("/dev/null", "we");
  if (file == nullptr) return;
  std::fputs("rank,time,what,partner,tag,link,regime,machine_state,once,latency\n", file);
  print(file, 0, state.journal.rows);
  int ranks = 0;
  real.Comm_size(comm, &ranks);
  for (int rank = 1; rank < ranks; rank++) collect(file, rank, comm);
  close(file, path);
}

void leave_journal() {
  const std::string path = complete_record();
  if (path.empty() || state.journal.rows.empty()) return;
  const std::string own = path + "." + std::to_string(state.world_rank);
  std::FILE *file = opened(own, "ae");
  if (file == nullptr) return;
  print(file, state.world_rank, state.journal.rows);
  close(file, own);
}

} // namespace haloscope::inject
