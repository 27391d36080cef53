// Functions in front of SMPI in each simulation, behind the recorder if it is loaded.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <ranges>
#include <smpi/smpi.h>
#include <vector>

namespace {

constexpr int chain_tag = 32749; // of messages that stand for a broadcast

int size_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

int bytes_of(MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  return bytes;
}

int own_rank(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

int chosen(const char *variable) {
  const char *text = std::getenv(variable); // NOLINT(concurrency-mt-unsafe): one thread
  return text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : 0;
}

// Parallel chains with Open MPI's layout: the ranks behind the root are divided into chains whose lengths
// differ by at most one, longer ones first. The root sends to the first rank of each chain, and each rank to
// the next.
int broadcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int wanted = chosen("HALOSCOPE_CHAINS"), size = size_of(comm);
  if (wanted == 0 || size < 2) return PMPI_Bcast(buffer, count, type, root, comm);
  const int chains = std::min(wanted, size - 1), longer = (size - 1) % chains;
  const int length = (size - 1) / chains;
  const auto head = [&](int chain) { return 1 + chain * length + std::min(chain, longer); };
  const auto rank = [&](int place) { return (place + root) % size; };
  const int place = (own_rank(comm) - root + size) % size;
  std::vector<int> next;
  int before = place - 1;
  for (int chain = 0; chain < chains; chain++) {
    if (place == 0) next.push_back(head(chain));
    if (place == head(chain)) before = 0;
  }
  const bool last = std::ranges::any_of(std::views::iota(1, chains + 1),
                                        [&](int chain) { return place + 1 == head(chain); });
  if (place > 0 && !last) next.push_back(place + 1);
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_get_extent(type, &low, &extent);
  const std::int64_t each = std::max<std::int64_t>(bytes_of(type), 1);
  const std::int64_t segment = chosen("HALOSCOPE_CHAIN_SEGMENT");
  const int step =
      segment > 0 ? static_cast<int>(std::max<std::int64_t>(segment / each, 1)) : std::max(count, 1);
  for (int first = 0; first == 0 || first < count; first += step) {
    const int part = std::min(step, count - first);
    char *at = static_cast<char *>(buffer) + static_cast<std::ptrdiff_t>(first) * extent;
    if (place > 0) PMPI_Recv(at, part, type, rank(before), chain_tag, comm, MPI_STATUS_IGNORE);
    for (const int to : next) PMPI_Send(at, part, type, rank(to), chain_tag, comm);
  }
  return MPI_SUCCESS;
}

} // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): those of smpi.h say less
extern "C" {

// SMPI opens a copy of the program for each rank, to privatize its globals, in a way that has the program
// find SimGrid's MPI_* before those of anything preloaded.
void *dlopen(const char *file, int mode) noexcept {
  using Open = void *(*)(const char *, int);
  static const auto next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "dlopen"));
  return next(file, mode & ~RTLD_DEEPBIND);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return broadcast(buffer, count, type, root, comm);
}

// For a message from a rank to itself, SMPI returns the number of its own process as the source.
int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag, void *in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status *status) {
  const int result =
      PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
  if (result == MPI_SUCCESS && status != MPI_STATUS_IGNORE && to == from && from == own_rank(comm))
    status->MPI_SOURCE = from;
  return result;
}

// SMPI ends a program that calls a missing function. These two are simple enough to add.
int MPI_Pcontrol(const int /*level*/, ...) { return MPI_SUCCESS; }

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *made, MPI_Request *request) {
  *request = MPI_REQUEST_NULL;
  return PMPI_Comm_dup(comm, made);
}

// SimGrid says only that someone did.
int MPI_Abort(MPI_Comm comm, int code) {
  std::fprintf(stderr, "haloscope: rank %d called MPI_Abort, code %d\n", own_rank(MPI_COMM_WORLD), code);
  std::fflush(stderr);
  return PMPI_Abort(comm, code);
}

} // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
