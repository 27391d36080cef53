// Programs that are measured alternately. Each is set up once, and then sleeps until a line on standard input
// names one of its cases, so that sides alternate without repeated setup.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

namespace turns {

// The next line for all ranks; empty at the end. MPI's own waiting would keep the other programs' cores busy.
inline std::string next_line(int rank, int ranks) {
  constexpr int tag = 71, most = 256;
  std::string line;
  if (rank == 0) {
    if (!std::getline(std::cin, line)) line.clear();
    line.resize(std::min<std::size_t>(line.size(), most));
    for (int to = 1; to < ranks; to++)
      MPI_Send(line.data(), static_cast<int>(line.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
    return line;
  }
  int there = 0;
  MPI_Status status;
  while (true) {
    MPI_Iprobe(0, tag, MPI_COMM_WORLD, &there, &status);
    if (there != 0) break;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  int length = 0;
  MPI_Get_count(&status, MPI_CHAR, &length);
  line.resize(static_cast<std::size_t>(length));
  MPI_Recv(line.data(), length, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return line;
}

struct Case {
  std::function<void()> run;
  double unknowns = 0;         // of all ranks
  double flops = 0, bytes = 0; // of this rank in a run, if known
  bool warms = true;           // an unmeasured run comes first, because other programs have filled the caches
};

// Describes each case, then answers lines "case count" by the slower rank's seconds for `count` runs of the
// case.
inline void serve(const std::map<std::string, Case> &cases) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const auto &[name, made] : cases)
    if (rank == 0)
      std::printf("case %s %.17g %.17g %.17g\n", name.c_str(), made.unknowns, made.flops, made.bytes);
  if (rank == 0) std::puts("ready");
  std::fflush(stdout);
  for (std::string line; !(line = next_line(rank, ranks)).empty();) {
    std::istringstream words(line);
    std::string name;
    int count = 0;
    words >> name >> count;
    const auto found = cases.find(name);
    double own = -1, slower = -1;
    if (found != cases.end()) {
      const Case &made = found->second;
      if (made.warms) made.run();
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (int i = 0; i < count; i++) made.run();
      own = MPI_Wtime() - begin;
    }
    MPI_Reduce(&own, &slower, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("took %s %.9f\n", name.c_str(), slower);
    std::fflush(stdout);
  }
}

} // namespace turns
