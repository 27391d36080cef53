#include "record.hpp"

#include "../common/options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace poisson {

namespace {

using Times = haloscope::Overlap::Times;

constexpr int columns = 8;
constexpr const char *header =
    "rank,run,application,alpha,input_wait,output_wait,input_block,output_block,polls\n";

void write_rows(std::ostream &out, int rank, const std::vector<double> &rows) {
  for (std::size_t i = 0; i + columns <= rows.size(); i += columns) {
    char line[256];
    const double *row = rows.data() + i;
    std::snprintf(line, sizeof line, "%d,%.0f,%.0f,%.6f,%.9f,%.9f,%.9f,%.9f,%.0f\n", rank, row[0], row[1],
                  row[2], row[3], row[4], row[5], row[6], row[7]);
    out << line;
  }
}

// Returns the error, or nothing. Writes rank after rank, so that one rank's numbers are in memory at a time.
std::string write_all(const std::string &path, const std::vector<double> &own, int ranks,
                      MPI_Comm communicator) {
  const std::string scratch = path + ".part";
  std::ofstream out(scratch);
  out << header;
  write_rows(out, 0, own);
  for (int rank = 1; rank < ranks; rank++) {
    MPI_Status status;
    int count = 0;
    MPI_Probe(rank, 0, communicator, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    std::vector<double> rows(static_cast<std::size_t>(count));
    MPI_Recv(rows.data(), count, MPI_DOUBLE, rank, 0, communicator, MPI_STATUS_IGNORE);
    write_rows(out, rank, rows);
  }
  out.close();
  if (out && std::rename(scratch.c_str(), path.c_str()) == 0) return {};
  const std::string reason = std::strerror(errno); // NOLINT(concurrency-mt-unsafe): one thread
  std::remove(scratch.c_str());
  return "--csv " + path + ": cannot be written (" + reason + ")";
}

} // namespace

void Record::write(const std::string &path, MPI_Comm communicator) const {
  std::vector<double> rows;
  rows.reserve(columns * times.size());
  for (std::size_t i = 0; i < times.size(); i++) {
    const Times &t = times[i];
    const auto run = std::ranges::upper_bound(begins_, i) - begins_.begin();
    const std::size_t begin = run == 0 ? 0 : begins_[static_cast<std::size_t>(run - 1)];
    rows.insert(rows.end(), {static_cast<double>(run), static_cast<double>(i - begin), t.alpha, t.input_wait,
                             t.output_wait, t.input_block, t.output_block, static_cast<double>(t.polls)});
  }
  int rank = 0, ranks = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  std::string wrong;
  if (rank == 0)
    wrong = write_all(path, rows, ranks, communicator);
  else
    MPI_Send(rows.data(), static_cast<int>(rows.size()), MPI_DOUBLE, 0, 0, communicator);
  int failed = wrong.empty() ? 0 : 1;
  MPI_Bcast(&failed, 1, MPI_INT, 0, communicator);
  if (failed != 0) throw apps::UsageError(wrong); // rank 0 says it
}

} // namespace poisson
