// A rank of a measuring program: where it runs, and how it waits without being in the way of others.
#pragma once

#include "predict/measure/quoted.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#ifndef SMPI_H
#include <sched.h>
#endif

namespace pairs {

using measure::quote;

constexpr int tag = 32002;

// Seconds. Not MPI_Wtime, which in some libraries counts from 1970 and so in steps of 0.2 µs, but
// where time is simulated.
inline double now() {
#ifdef SMPI_H
  return MPI_Wtime();
#else
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#endif
}

// Seconds that reading the clock takes.
inline double clock_cost() {
  constexpr int reads = 1000;
  const double start = now();
  double last = start;
  for (int i = 0; i < reads; i++) last = now();
  return (last - start) / reads;
}

inline void doze() {
  const timespec moment{0, 50'000};
  nanosleep(&moment, nullptr);
}

inline void wait_quietly(MPI_Request request) {
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0) doze();
}

inline int local_rank() {
  MPI_Comm node = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

// Binds this process to a processor. Returns the error, or nothing.
inline std::string bind_to([[maybe_unused]] long long cpu) {
#ifndef SMPI_H
  if (cpu < 0) return "";
  if (cpu >= CPU_SETSIZE) return "processor " + std::to_string(cpu) + ": beyond what can be bound to";
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return "processor " + std::to_string(cpu) + ": cannot bind to it (" + std::strerror(errno) + ")";
#endif
  return "";
}

// Rank 0's description of each rank, one line each.
inline std::string describe_rank(int rank, int local, long long cpu, const std::string &error) {
  std::vector<char> host(256, '\0');
  gethostname(host.data(), host.size() - 1);
  const char *address = std::getenv("SLURM_TOPOLOGY_ADDR");
  return R"({"record":"rank","rank":)" + std::to_string(rank) + R"(,"local":)" + std::to_string(local) +
         R"(,"cpu":)" + std::to_string(cpu) + R"(,"host":)" + quote(host.data()) + R"(,"address":)" +
         quote(address ? address : "") + R"(,"error":)" + quote(error) + "}";
}

inline void print(const std::string &line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

// Rank 0 prints the texts of all ranks; true if all ranks are well.
inline bool roll_call(int rank, int ranks, const std::string &text, bool well) {
  constexpr int most = 1024;
  std::vector<char> mine(most, '\0');
  text.copy(mine.data(), most - 1);
  std::vector<char> all(rank == 0 ? static_cast<size_t>(most) * static_cast<size_t>(ranks) : 1);
  MPI_Gather(mine.data(), most, MPI_CHAR, all.data(), most, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; i++)
    print(&all[static_cast<size_t>(most) * static_cast<size_t>(i)]);
  int mine_well = well ? 1 : 0;
  int all_well = 0;
  MPI_Allreduce(&mine_well, &all_well, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all_well != 0;
}

} // namespace pairs
