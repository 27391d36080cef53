// A message whose sender sleeps, while a third rank on the sender's core waits for a different message.
// Prints "BYTES SECONDS" of the receiver for each message. There are two cores: sender and third rank share
// the first. With `busy` the third rank computes instead and does not help. Its core is then also awake: data
// that a sleeping core has written may take twice as long to read.
//
//   stealing idle|busy COUNT BYTES…
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sched.h>

namespace {

constexpr int sender = 0, receiver = 1, left_out = 3;
constexpr std::size_t least = 65536; // bytes of the message that the third rank waits for

void sleep_for(double seconds) {
  const timespec time{0, static_cast<long>(1e9 * seconds)};
  nanosleep(&time, nullptr);
}

void compute_for(double seconds) {
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
  }
}

void bind(int rank) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  int seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &all) || seen++ != rank % 2) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

// The receiver's time.
double message(int rank, std::uint64_t *data, std::size_t bytes, std::uint64_t first, bool busy) {
  const int count = static_cast<int>(bytes);
  double time = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == sender) {
    for (std::size_t i = 0; i < bytes / sizeof *data; i++) data[i] = first + i;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(data, count, MPI_BYTE, receiver, 0, MPI_COMM_WORLD, &request);
    sleep_for(0.02);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(data, least, MPI_BYTE, 2, 1, MPI_COMM_WORLD);
  } else if (rank == receiver) {
    sleep_for(0.01);
    const double begin = MPI_Wtime();
    MPI_Recv(data, count, MPI_BYTE, sender, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    time = MPI_Wtime() - begin;
    if (data[bytes / sizeof *data - 1] != first + bytes / sizeof *data - 1) MPI_Abort(MPI_COMM_WORLD, 3);
  } else {
    if (busy) compute_for(0.02);
    MPI_Recv(data, least, MPI_BYTE, sender, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return time;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bind(rank);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const bool busy = std::strcmp(argv[1], "busy") == 0;
  const long count = std::strtol(argv[2], nullptr, 10);
  for (int i = 3; i < argc; i++) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
    std::uint64_t *data = nullptr;
    MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void *>(&data));
    for (long turn = 0; turn < count + left_out; turn++) {
      const double time = message(rank, data, bytes, static_cast<std::uint64_t>(turn) << 32, busy);
      if (rank == receiver && turn >= left_out) std::printf("%zu %.9f\n", bytes, time);
    }
    MPI_Free_mem(data);
  }
  MPI_Finalize();
  return 0;
}
