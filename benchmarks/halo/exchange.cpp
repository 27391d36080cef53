// Two ranks exchange a message each way, alternately by the methods of the halo library and by plain MPI.
// Copies alone are the lower bound. Buffers are rewritten before each exchange and read after it. Prints
// "BYTES METHOD BLOCK SECONDS SECONDS-WITH-READING" of the slower rank for each exchange.
//
//   exchange BLOCKS METHOD,METHOD… BYTES…
#include "ways.hpp"

#include <sstream>
#include <vector>

namespace {

constexpr int in_block = 20, left_out = 3; // exchanges per block; the first ones are not used

volatile std::uint64_t sink;

#if defined(__x86_64__)
#define VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORS
#endif

// Sizes are multiples of 2 KiB. Four streams have more cache lines in flight than one.
VECTORS void read(const std::uint64_t *data, std::size_t bytes) {
  constexpr std::size_t step = 64, streams = 4;
  const std::size_t part = bytes / sizeof *data / streams;
  std::uint64_t sum = 0;
  for (std::size_t begin = 0; begin < part; begin += step)
    for (std::size_t stream = 0; stream < streams; stream++)
      for (std::size_t i = 0; i < step; i++) sum += data[stream * part + begin + i];
  sink = sum;
}

struct Named {
  std::string name;
  Method method;
};

void block(const Named &named, std::size_t bytes, int number) {
  for (int i = 0; i < in_block; i++) {
    std::uint64_t *target = named.method.target();
    for (std::size_t k = 0; k < bytes / sizeof *target; k++) target[k] = static_cast<std::uint64_t>(i) + k;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    named.method.exchange();
    const double exchanged = MPI_Wtime();
    read(named.method.source(), bytes);
    double times[2] = {exchanged - begin, MPI_Wtime() - begin}, slowest[2] = {};
    MPI_Allreduce(times, slowest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (me() == 0 && i >= left_out)
      std::printf("%zu %s %d %.9f %.9f\n", bytes, named.name.c_str(), number, slowest[0], slowest[1]);
  }
}

void measure(std::size_t bytes, int blocks, const std::string &names) {
  MPI_Comm comm = pair();
  const auto known = ways();
  std::vector<Named> chosen;
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');)
    chosen.push_back({name, known.at(name)(comm, bytes)});
  for (int number = 0; number < blocks; number++)
    for (const Named &named : chosen) block(named, bytes, number);
  chosen.clear();
  MPI_Comm_free(&comm);
}

} // namespace

int main(int argc, char **argv) { // NOLINT(bugprone-exception-escape): then there is nothing to measure
  MPI_Init(&argc, &argv);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 3; i < argc; i++)
    measure(std::strtoull(argv[i], nullptr, 10), static_cast<int>(std::strtol(argv[1], nullptr, 10)),
            argv[2]);
  MPI_Finalize();
  return 0;
}
