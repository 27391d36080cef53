// Two ranks exchange a message each way, by the ways of the halo library and by plain MPI, in turns; and copy
// alone, which is what limits them. Buffers are rewritten before each exchange and read after it. Prints
// "BYTES METHOD BLOCK SECONDS SECONDS-WITH-READING", the slower rank's, for each exchange.
#include <haloscope/halo.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int in_block = 20, left_out = 3; // exchanges, and the first ones of them

volatile std::uint64_t sink;

#if defined(__x86_64__)
#define VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORS
#endif

// Sizes are multiples of 2 KiB; four streams keep more lines on their way than one.
VECTORS void read(const std::uint64_t *data, std::size_t bytes) {
  constexpr std::size_t step = 64, streams = 4;
  const std::size_t part = bytes / sizeof *data / streams;
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin < part; begin += step)
    for (std::size_t stream = 0; stream < streams; stream++)
      for (std::size_t i = 0; i < step; i++) sum += data[stream * part + begin + i];
  sink = sum;
}

struct Method {
  std::string name;
  std::function<std::uint64_t *()> target; // what is to be written
  std::function<void()> exchange;
  std::function<const std::uint64_t *()> source; // what is to be read
};

int me() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// Each is the other's only neighbour.
MPI_Comm pair() {
  const int other = 1 - me();
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &made);
  return made;
}

Method by_halo(const std::string &name, MPI_Comm comm, std::size_t bytes, haloscope_halo_method how) {
  auto settings = haloscope::Halo::defaults();
  settings.method = how;
  auto halo = std::make_shared<haloscope::Halo>(comm, std::span{&bytes, 1}, std::span{&bytes, 1}, settings);
  if (how == HALOSCOPE_HALO_MEASURE && me() == 0) std::fprintf(stderr, "%s\n", halo->description().c_str());
  return {name, [halo] { return halo->send<std::uint64_t>(0).data(); },
          [halo] {
            halo->start();
            halo->finish();
          },
          [halo] { return halo->received<std::uint64_t>(0).data(); }};
}

std::shared_ptr<std::uint64_t> buffer(std::size_t bytes, bool large_pages) {
  constexpr std::size_t page = std::size_t{2} << 20;
  void *made = nullptr;
  if (posix_memalign(&made, large_pages ? page : 4096, (bytes + page - 1) / page * page) != 0) std::abort();
  madvise(made, (bytes + page - 1) / page * page, large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  std::memset(made, 1, bytes);
  return {static_cast<std::uint64_t *>(made), std::free};
}

// A program of today.
Method by_messages(const std::string &name, std::size_t bytes, bool large_pages) {
  auto to = buffer(bytes, large_pages), from = buffer(bytes, large_pages);
  return {name, [to] { return to.get(); },
          [to, from, bytes] {
            MPI_Request requests[2];
            const int other = 1 - me(), count = static_cast<int>(bytes);
            MPI_Irecv(from.get(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(to.get(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
          },
          [from] { return from.get(); }};
}

// The kernel copies from the other process: the least that MPI libraries with private buffers do.
Method by_kernel(const std::string &name, std::size_t bytes, bool both) {
  auto to = buffer(bytes, false), from = buffer(bytes, false);
  struct Other {
    long process;
    std::uint64_t *data;
  };
  const Other mine{getpid(), to.get()};
  Other other{};
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, 1 - me(), 1, &other, sizeof other, MPI_BYTE, 1 - me(), 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return {name, [to] { return to.get(); },
          [from, other, bytes, both] {
            if (!both && me() != 0) return;
            iovec here{from.get(), bytes}, there{other.data, bytes};
            if (process_vm_readv(static_cast<pid_t>(other.process), &here, 1, &there, 1, 0) < 0)
              std::memset(from.get(), 0, bytes); // forbidden here
          },
          [from] { return from.get(); }};
}

// A core copies what it has itself, or both do.
Method by_memcpy(const std::string &name, std::size_t bytes, bool both) {
  auto to = buffer(bytes, true), from = buffer(bytes, true);
  return {name, [to] { return to.get(); },
          [to, from, bytes, both] {
            if (both || me() == 0) std::memcpy(from.get(), to.get(), bytes);
          },
          [from] { return from.get(); }};
}

void block(const Method &method, std::size_t bytes, int number) {
  for (int i = 0; i < in_block; i++) {
    std::uint64_t *target = method.target();
    for (std::size_t k = 0; k < bytes / sizeof *target; k++) target[k] = static_cast<std::uint64_t>(i) + k;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    method.exchange();
    const double exchanged = MPI_Wtime();
    read(method.source(), bytes);
    double times[2] = {exchanged - begin, MPI_Wtime() - begin}, slowest[2] = {};
    MPI_Allreduce(times, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (me() == 0 && i >= left_out)
      std::printf("%zu %s %d %.9f %.9f\n", bytes, method.name.c_str(), number, slowest[0], slowest[1]);
  }
}

void measure(std::size_t bytes, int blocks) {
  MPI_Comm comm = pair();
  const std::vector<Method> methods{by_halo("in-place", comm, bytes, HALOSCOPE_HALO_IN_PLACE),
                                    by_halo("window", comm, bytes, HALOSCOPE_HALO_WINDOW),
                                    by_halo("chosen", comm, bytes, HALOSCOPE_HALO_MEASURE),
                                    by_halo("mpi-persistent", comm, bytes, HALOSCOPE_HALO_PERSISTENT),
                                    by_halo("mpi-neighbourhood", comm, bytes, HALOSCOPE_HALO_NEIGHBOURHOOD),
                                    by_messages("mpi-isend", bytes, false),
                                    by_messages("mpi-isend-large-pages", bytes, true),
                                    by_memcpy("memcpy-one", bytes, false),
                                    by_memcpy("memcpy-two", bytes, true),
                                    by_kernel("cma-one", bytes, false),
                                    by_kernel("cma-two", bytes, true)};
  for (int number = 0; number < blocks; number++)
    for (const Method &method : methods) block(method, bytes, number);
  MPI_Comm_free(&comm);
}

} // namespace

int main(int argc, char **argv) { // NOLINT(bugprone-exception-escape): then there is nothing to measure
  MPI_Init(&argc, &argv);
  const int blocks = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 20;
  for (int i = 2; i < argc; i++) measure(std::strtoull(argv[i], nullptr, 10), blocks);
  MPI_Finalize();
  return 0;
}
