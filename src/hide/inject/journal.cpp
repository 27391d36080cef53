#include "injection.hpp"
#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace haloscope::inject {

namespace {

constexpr int rows_tag = 1; // nobody else sends on the stamps' communicator any more
constexpr std::size_t block = 1U << 16U;

void print(std::FILE *file, int rank, const std::vector<Row> &rows) {
  for (const Row &row : rows) {
    const double time = 1e-9 * static_cast<double>(row.sent - state.begin);
    std::fprintf(file, "%d,%.9f,%s,", rank, time, row.partner < 0 ? "collective" : "message");
    if (row.partner < 0)
      std::fputs(",,", file);
    else
      std::fprintf(file, "%d,%d,", row.partner, row.tag);
    std::fprintf(file, "%s,%d,%d,%d,%.9g\n", row.link == 0 ? "intra" : "inter", row.regime, row.machine_state,
                 row.once, row.latency);
  }
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
  const char *path = std::getenv("HALOSCOPE_INJECT_RECORD"); // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr || *path == '\0') return;
  const MPI_Comm comm = communicator_of(MPI_COMM_WORLD)->stamps;
  if (state.world_rank != 0) {
    hand_on(state.journal.rows, comm);
    return;
  }
  std::FILE *file = std::fopen(path, "we");
  if (file == nullptr) {
    watch::complain(std::string{path} + ": can't be written: the record of what was injected is lost");
    file = std::fopen("/dev/null", "we");
    if (file == nullptr) return;
  }
  std::fputs("rank,time,what,partner,tag,link,regime,machine_state,once,latency\n", file);
  print(file, 0, state.journal.rows);
  for (int rank = 1; rank < static_cast<int>(state.nodes.size()); rank++) collect(file, rank, comm);
  if (std::fclose(file) != 0) watch::complain(std::string{path} + ": not written to its end");
}

} // namespace haloscope::inject
