/* Does each collective of its arguments once: `exercise bcast:1024 barrier:0 …`, sizes as OSU's. */
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace {

struct Buffers {
  int ranks;
  std::vector<char> from, to;
  std::vector<int> counts, places;

  Buffers(int ranks_, int size)
      : ranks(ranks_), from(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(size) + 1),
        to(from.size()), counts(static_cast<std::size_t>(ranks), size),
        places(static_cast<std::size_t>(ranks)) {
    for (int i = 0; i < ranks; ++i) places[static_cast<std::size_t>(i)] = size * i;
  }

  /* Even shares, the first ones larger by one: MPI_Reduce_scatter handles the whole vector. */
  void split(int size) {
    for (int i = 0; i < ranks; ++i) counts[static_cast<std::size_t>(i)] = size / ranks + (i < size % ranks);
  }
};

int run(const std::string &name, int n, Buffers &b) {
  MPI_Comm const all = MPI_COMM_WORLD;
  MPI_Datatype const type = MPI_SIGNED_CHAR;
  char *const from = b.from.data(), *const to = b.to.data();
  int *const counts = b.counts.data(), *const places = b.places.data();
  if (name == "barrier") return MPI_Barrier(all);
  if (name == "bcast") return MPI_Bcast(from, n, type, 0, all);
  if (name == "reduce") return MPI_Reduce(from, to, n, type, MPI_SUM, 0, all);
  if (name == "allreduce") return MPI_Allreduce(from, to, n, type, MPI_SUM, all);
  if (name == "allgather") return MPI_Allgather(from, n, type, to, n, type, all);
  if (name == "allgatherv") return MPI_Allgatherv(from, n, type, to, counts, places, type, all);
  if (name == "alltoall") return MPI_Alltoall(from, n, type, to, n, type, all);
  if (name == "alltoallv") return MPI_Alltoallv(from, counts, places, type, to, counts, places, type, all);
  if (name == "gather") return MPI_Gather(from, n, type, to, n, type, 0, all);
  if (name == "gatherv") return MPI_Gatherv(from, n, type, to, counts, places, type, 0, all);
  if (name == "scatter") return MPI_Scatter(from, n, type, to, n, type, 0, all);
  if (name == "scatterv") return MPI_Scatterv(from, counts, places, type, to, n, type, 0, all);
  if (name == "reduce_scatter_block")
    return MPI_Reduce_scatter_block(from, to, n / b.ranks, type, MPI_SUM, all);
  if (name != "reduce_scatter") return MPI_ERR_ARG;
  b.split(n);
  return MPI_Reduce_scatter(from, to, counts, type, MPI_SUM, all);
}

int number(const char *text) {
  char *end = nullptr;
  long const value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= INT_MAX ? static_cast<int>(value) : -1;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    std::size_t const colon = word.find(':');
    int const size = colon < word.size() ? number(word.c_str() + colon + 1) : -1;
    if (size < 0) MPI_Abort(MPI_COMM_WORLD, 2);
    Buffers buffers(ranks, size);
    if (run(word.substr(0, colon), size, buffers) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return MPI_Finalize();
}
