// Exchanges halos on many topologies in all ways, and checks each byte. `all`: Every topology, method and
// sharing; prints descriptions, and "right" at the end. `errors`: Wrong inputs; prints the line of each rank.
// `endless`: Runs until it is killed.
// FORBID names functions that fail for the library: memfd, shm.
#include <haloscope/halo.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

bool forbidden(const char *what, const char *name, const char *ours) {
  const char *list = std::getenv("FORBID"); // NOLINT(concurrency-mt-unsafe): set before the program started
  return list != nullptr && std::strstr(list, what) != nullptr &&
         std::strncmp(name, ours, std::strlen(ours)) == 0;
}

} // namespace

// Replaces the C library's function for the halo library, which is linked in.
extern "C" int memfd_create(const char *name, unsigned flags) noexcept {
  if (forbidden("memfd", name, "haloscope")) {
    errno = ENOSYS;
    return -1;
  }
  return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

extern "C" int shm_open(const char *name, int flags, mode_t mode) {
  if (forbidden("shm", name, "/haloscope-")) {
    errno = ENOSPC;
    return -1;
  }
  using Function = int (*)(const char *, int, mode_t);
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "shm_open"))(name, flags, mode);
}

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

[[noreturn]] void abort_with(const std::string &what) {
  std::printf("rank %d: %s\n", world_rank(), what.c_str());
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// A stencil with the expected messages: the sender, and its index of the destination.
struct Stencil {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<std::size_t> sends, receives;
  std::vector<int> from, as; // of each source: its rank, and which of its destinations this is
};

std::size_t size_of(int rank, int neighbour, std::size_t scale) {
  std::minstd_rand random(static_cast<unsigned>(rank * 64 + neighbour + 1));
  random.discard(4);
  return random() % 7 == 0 ? 0 : 1 + random() % scale;
}

Stencil sized(Stencil stencil, int destinations, std::size_t scale) {
  for (int i = 0; i < destinations; i++) stencil.sends.push_back(size_of(world_rank(), i, scale));
  for (std::size_t i = 0; i < stencil.from.size(); i++)
    stencil.receives.push_back(stencil.from[i] < 0 ? 77 : size_of(stencil.from[i], stencil.as[i], scale));
  return stencil;
}

Stencil cartesian(int dimensions, bool periodic, std::size_t scale) {
  std::vector<int> dims(static_cast<std::size_t>(dimensions)), periods(dims.size(), periodic ? 1 : 0);
  MPI_Dims_create(world_size(), dimensions, dims.data());
  Stencil stencil;
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims.data(), periods.data(), 0, &stencil.comm);
  for (int i = 0; i < dimensions; i++) {
    int below = 0, above = 0;
    MPI_Cart_shift(stencil.comm, i, 1, &below, &above);
    stencil.from.insert(stencil.from.end(), {below, above});
    stencil.as.insert(stencil.as.end(), {2 * i + 1, 2 * i});
  }
  return sized(stencil, 2 * dimensions, scale);
}

// Random edges, some twice, some from a rank to itself; the same on all ranks.
Stencil random_graph(unsigned seed, std::size_t scale) {
  const int ranks = world_size(), me = world_rank();
  std::mt19937 random(seed);
  std::vector<std::vector<int>> to(static_cast<std::size_t>(ranks));
  for (auto &list : to) {
    list.resize(random() % 6);
    for (int &rank : list) rank = static_cast<int>(random() % static_cast<unsigned>(ranks));
  }
  Stencil stencil;
  for (int rank = 0; rank < ranks; rank++)
    for (std::size_t i = 0; i < to[static_cast<std::size_t>(rank)].size(); i++)
      if (to[static_cast<std::size_t>(rank)][i] == me) {
        stencil.from.push_back(rank);
        stencil.as.push_back(static_cast<int>(i));
      }
  const auto &mine = to[static_cast<std::size_t>(me)];
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(stencil.from.size()), stencil.from.data(),
                                 MPI_UNWEIGHTED, static_cast<int>(mine.size()), mine.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &stencil.comm);
  return sized(stencil, static_cast<int>(mine.size()), scale);
}

// The older kind: a line of ranks.
Stencil line_graph(std::size_t scale) {
  std::vector<int> index, edges;
  for (int rank = 0; rank < world_size(); rank++) {
    if (rank > 0) edges.push_back(rank - 1);
    if (rank + 1 < world_size()) edges.push_back(rank + 1);
    index.push_back(static_cast<int>(edges.size()));
  }
  Stencil stencil;
  MPI_Graph_create(MPI_COMM_WORLD, world_size(), index.data(), edges.data(), 0, &stencil.comm);
  const int me = world_rank();
  if (me > 0) stencil.from.push_back(me - 1), stencil.as.push_back(me - 1 > 0 ? 1 : 0);
  if (me + 1 < world_size()) stencil.from.push_back(me + 1), stencil.as.push_back(0);
  return sized(stencil, static_cast<int>(stencil.from.size()), scale);
}

std::uint8_t byte_of(int rank, int neighbour, int exchange, std::size_t place) {
  const auto seed = static_cast<std::uint32_t>(rank * 131 + neighbour * 31 + exchange);
  return static_cast<std::uint8_t>((seed + place * 7) * 2654435761U >> 23);
}

void fill(haloscope::Halo &halo, const Stencil &stencil, int exchange) {
  for (int i = 0; i < static_cast<int>(stencil.sends.size()); i++) {
    const auto buffer = halo.send<std::uint8_t>(i);
    if (reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 != 0) abort_with("a buffer is not aligned");
    for (std::size_t k = 0; k < buffer.size(); k++) buffer[k] = byte_of(world_rank(), i, exchange, k);
  }
}

void verify(const haloscope::Halo &halo, const Stencil &stencil, int exchange) {
  for (int i = 0; i < static_cast<int>(stencil.from.size()); i++) {
    const auto at = static_cast<std::size_t>(i);
    const auto buffer = halo.received<std::uint8_t>(i);
    if (buffer.size() != (stencil.from[at] < 0 ? 0 : stencil.receives[at])) abort_with("a size is wrong");
    for (std::size_t k = 0; k < buffer.size(); k++)
      if (buffer[k] != byte_of(stencil.from[at], stencil.as[at], exchange, k))
        abort_with("neighbour " + std::to_string(i) + ", exchange " + std::to_string(exchange) + ", byte " +
                   std::to_string(k) + " is wrong: " + halo.description());
  }
}

void run(const Stencil &stencil, haloscope_halo_method method, int sharing, int exchanges) {
  haloscope::Halo::Settings settings = haloscope::Halo::defaults();
  settings.method = method;
  settings.sharing = sharing;
  settings.rounds = 3;
  haloscope::Halo halo{stencil.comm, stencil.sends, stencil.receives, settings};
  std::minstd_rand random(static_cast<unsigned>(world_rank() + 1));
  for (int exchange = 0; exchange < exchanges; exchange++) {
    fill(halo, stencil, exchange);
    if (random() % 4 == 0) usleep(random() % 500); // ranks start at different times
    halo.start();
    if (halo.send<char>(0).data() != nullptr && !stencil.sends.empty())
      abort_with("a buffer may be written during an exchange");
    if (random() % 2 == 0)
      while (!halo.test()) usleep(10);
    else
      halo.finish();
    verify(halo, stencil, exchange);
    if (random() % 3 == 0) halo.release();
  }
  if (world_rank() == 0) std::printf("%s\n", halo.description().c_str());
}

void all_kinds(std::size_t scale) {
  std::vector<Stencil> stencils{cartesian(1, true, scale), cartesian(2, false, scale),
                                cartesian(3, true, scale), random_graph(1, scale), random_graph(2, scale)};
  if (world_size() > 1) stencils.push_back(line_graph(scale)); // Open MPI makes no graph without edges
  for (Stencil &stencil : stencils) {
    for (int method = HALOSCOPE_HALO_MEASURE; method <= HALOSCOPE_HALO_IN_PLACE; method++)
      run(stencil, static_cast<haloscope_halo_method>(method), 0, 12);
    run(stencil, HALOSCOPE_HALO_IN_PLACE, 1, 6);
    run(stencil, HALOSCOPE_HALO_WINDOW, 2, 6);
    run(stencil, HALOSCOPE_HALO_MEASURE, 2, 6);
    MPI_Comm_free(&stencil.comm);
  }
}

// Prints the error of every rank.
void refused(const char *name, MPI_Comm comm, const std::vector<std::size_t> &sends,
             const std::vector<std::size_t> &receives, const haloscope_halo_settings &settings) {
  haloscope_halo *halo = nullptr;
  const int result = haloscope_halo_create(comm, sends.data(), receives.data(), &settings, &halo);
  if (result == MPI_SUCCESS || halo != nullptr) abort_with(std::string{name} + " was taken");
  std::printf("%s | %s\n", name, haloscope_halo_error());
  std::fflush(stdout);
}

void errors() {
  const int me = world_rank(), last = world_size() - 1;
  const auto defaults = haloscope_halo_defaults();
  const std::vector<std::size_t> none;
  refused("no topology", MPI_COMM_WORLD, none, none, defaults);
  Stencil ring = cartesian(1, true, 1000);
  auto settings = defaults;
  if (me == last) settings.rounds = 1;
  refused("rounds", ring.comm, ring.sends, ring.receives, settings);
  settings = defaults;
  if (me == last) settings.method = HALOSCOPE_HALO_WINDOW;
  refused("settings differ", ring.comm, ring.sends, ring.receives, settings);
  auto sizes = ring.sends;
  if (me == last) sizes[1] = std::size_t{1} << 31;
  refused("too large", ring.comm, sizes, ring.receives, defaults);
  sizes = ring.sends;
  if (me == last) sizes[0] = 12345;
  refused("sizes differ", ring.comm, sizes, ring.receives, defaults);
  // Rank 0 has an edge to the last rank, which does not have it.
  MPI_Comm lopsided = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, &last, MPI_UNWEIGHTED, me == 0 ? 1 : 0, &last,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &lopsided);
  refused("lopsided", lopsided, {8}, none, defaults);
  haloscope_halo *halo = nullptr;
  if (haloscope_halo_create(ring.comm, ring.sends.data(), ring.receives.data(), nullptr, &halo) !=
      MPI_SUCCESS)
    abort_with("the right one was refused");
  int there = 0;
  if (haloscope_halo_finish(halo) != MPI_ERR_REQUEST || haloscope_halo_test(halo, &there) != MPI_ERR_REQUEST)
    abort_with("an exchange ended before it began");
  haloscope_halo_start(halo);
  if (haloscope_halo_start(halo) != MPI_ERR_REQUEST) abort_with("an exchange began twice");
  haloscope_halo_finish(halo);
  if (haloscope_halo_receive_buffer(halo, 2) != nullptr) abort_with("there is a third neighbour");
  haloscope_halo_free(halo);
}

void endless() {
  const Stencil ring = cartesian(1, true, 100000);
  auto settings = haloscope_halo_defaults();
  settings.method = HALOSCOPE_HALO_IN_PLACE;
  haloscope::Halo halo{ring.comm, ring.sends, ring.receives, settings};
  if (world_rank() == 0) std::printf("%s\n", halo.description().c_str());
  std::fflush(stdout);
  for (int exchange = 0;; exchange++) {
    fill(halo, ring, exchange);
    halo.start();
    halo.finish();
    usleep(1000);
  }
}

} // namespace

int main(int argc, char **argv) { // NOLINT(bugprone-exception-escape): then the test fails
  MPI_Init(&argc, &argv);
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "endless") endless();
  if (what == "errors") errors();
  if (what == "all") {
    all_kinds(3000);
    if (argc > 2) run(cartesian(1, true, 5 << 20), HALOSCOPE_HALO_MEASURE, 0, 4); // large pages
    if (world_rank() == 0) std::printf("right\n");
  }
  MPI_Finalize();
  return 0;
}
