// Times SimGrid SMPI's own algorithms of collectives by the simulated clock: smpi_sweep SECONDS JOB…
//
// A job is `allreduce:lr:8,32,128`: a collective, an algorithm or selector of SMPI's, and bytes.
// `p2p:STRIDE:…` are messages instead: from rank 0 alone, and of all ranks at once, with the rank whose
// number differs in that bit. Prints a line per point: collective, algorithm, bytes, simulated seconds until
// ranks are done (mean, last), core seconds of the simulation. After a point of more than SECONDS core
// seconds, larger sizes of its job are skipped.
//
// Ranks are contexts of one process and share its global variables (smpirun -no-privatize). They begin
// together, at SimGrid's own barrier, which takes no simulated time. Additions are not executed and take no
// time either: times are those of messages.
#include <simgrid/barrier.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <exception>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace simgrid::smpi::colls {
// Functions behind SimGrid's option smpi/COLLECTIVE, which are in no header.
void set_allgather(const std::string &name);
void set_allreduce(const std::string &name);
void set_alltoall(const std::string &name);
void set_bcast(const std::string &name);
void set_reduce(const std::string &name);
} // namespace simgrid::smpi::colls

namespace {

namespace colls = simgrid::smpi::colls;

struct Collective {
  void (*choose)(const std::string &);
  int (*call)(int count);
  bool blocks; // each rank has a block of this size for each other rank
};

struct Shared {
  sg_bar_t barrier = nullptr;
  std::vector<double> ends;
  int *buffer = nullptr; // SimGrid's shared memory, which it does not copy
  size_t ints = 0;
  MPI_Op operation = MPI_OP_NULL;
  std::string reason;
  bool left = false;
};

Shared shared; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): shared by all ranks

void nothing(void * /*in*/, void * /*out*/, int * /*count*/, MPI_Datatype * /*type*/) {}

int *out() { return shared.buffer; }
int *in() { return shared.buffer + shared.ints / 2; }

const std::map<std::string, Collective> &collectives() {
  static const std::map<std::string, Collective> known = {
      {"allgather",
       {colls::set_allgather,
        [](int count) { return MPI_Allgather(out(), count, MPI_INT, in(), count, MPI_INT, MPI_COMM_WORLD); },
        true}},
      {"allreduce",
       {colls::set_allreduce,
        [](int count) {
          return MPI_Allreduce(out(), in(), count, MPI_INT, shared.operation, MPI_COMM_WORLD);
        },
        false}},
      {"alltoall",
       {colls::set_alltoall,
        [](int count) { return MPI_Alltoall(out(), count, MPI_INT, in(), count, MPI_INT, MPI_COMM_WORLD); },
        true}},
      {"bcast",
       {colls::set_bcast, [](int count) { return MPI_Bcast(out(), count, MPI_INT, 0, MPI_COMM_WORLD); },
        false}},
      {"reduce",
       {colls::set_reduce,
        [](int count) {
          return MPI_Reduce(out(), in(), count, MPI_INT, shared.operation, 0, MPI_COMM_WORLD);
        },
        false}},
  };
  return known;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

template <class Number> Number number(std::string_view text) {
  Number found{};
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), found);
  if (error != std::errc{} || next != text.data() + text.size())
    throw std::invalid_argument{std::string{text} + " is not a number"};
  return found;
}

void message(int rank, int size, int stride, bool all, int count) {
  const int partner = rank ^ stride;
  if (partner >= size) return;
  if (all) {
    MPI_Sendrecv(out(), count, MPI_INT, partner, 0, in(), count, MPI_INT, partner, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    MPI_Send(out(), count, MPI_INT, partner, 0, MPI_COMM_WORLD);
  } else if (rank == stride) {
    MPI_Recv(in(), count, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

class Rank {
public:
  Rank(int rank, int size, double seconds) : rank_(rank), size_(size), seconds_(seconds) {}

  void job(const std::string &text) {
    const auto words = split(text, ':');
    const auto found = collectives().find(words[0]);
    choose(found, words[1]);
    warm(found);
    for (const std::string &word : split(words[2], ',')) {
      const auto bytes = number<long long>(word);
      prepare(bytes, found == collectives().end() || !found->second.blocks ? 1 : size_);
      const int count = static_cast<int>(bytes / static_cast<long long>(sizeof(int)));
      for (int way = 0; way < (found == collectives().end() ? 2 : 1); way++) {
        const std::clock_t begun = std::clock();
        const double begin = simgrid_get_clock();
        try {
          if (found != collectives().end())
            found->second.call(count);
          else
            message(rank_, size_, number<int>(words[1]), way == 1, count);
        } catch (const std::exception &error) {
          shared.reason = error.what();
        }
        shared.ends[static_cast<size_t>(rank_)] = simgrid_get_clock() - begin;
        sg_barrier_wait(shared.barrier);
        if (rank_ == 0) print(words[0], words[1] + (way == 1 ? "+" : ""), bytes, begun);
        sg_barrier_wait(shared.barrier);
      }
      if (shared.left) break;
    }
    choose(found, "ompi");
  }

private:
  // Some algorithms determine the nodes of a new communicator by collectives of their own.
  void warm(std::map<std::string, Collective>::const_iterator found) const {
    prepare(sizeof(int), size_);
    try {
      if (found != collectives().end()) found->second.call(1);
    } catch (const std::exception &error) {
      shared.reason = error.what();
    }
    sg_barrier_wait(shared.barrier);
  }

  // Calls of a collective inside of a collective use Open MPI's choice.
  void choose(std::map<std::string, Collective>::const_iterator found, const std::string &algorithm) const {
    sg_barrier_wait(shared.barrier);
    if (rank_ == 0) {
      shared.left = false;
      shared.reason.clear();
      if (found != collectives().end()) found->second.choose(algorithm);
    }
    sg_barrier_wait(shared.barrier);
  }

  void prepare(long long bytes, int blocks) const {
    if (rank_ == 0) {
      const size_t ints = static_cast<size_t>(bytes) / sizeof(int) * static_cast<size_t>(blocks) + 16;
      if (shared.ints < 2 * ints) {
        if (shared.buffer != nullptr) SMPI_SHARED_FREE(shared.buffer);
        shared.ints = 2 * ints;
        shared.buffer = static_cast<int *>(SMPI_SHARED_MALLOC(shared.ints * sizeof(int)));
      }
    }
    sg_barrier_wait(shared.barrier);
  }

  void print(const std::string &collective, const std::string &algorithm, long long bytes,
             std::clock_t begun) const {
    const double took = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    const double sum = std::accumulate(shared.ends.begin(), shared.ends.end(), 0.0);
    if (shared.reason.empty())
      std::printf("%s %s %lld %.6g %.6g %.3g\n", collective.c_str(), algorithm.c_str(), bytes, sum / size_,
                  *std::ranges::max_element(shared.ends), took);
    else
      std::printf("%s %s %lld refused: %s\n", collective.c_str(), algorithm.c_str(), bytes,
                  shared.reason.c_str());
    std::fflush(stdout);
    shared.left = took > seconds_ || !shared.reason.empty();
  }

  int rank_;
  int size_;
  double seconds_;
};

} // namespace

int main(int count, char **words) { // NOLINT(bugprone-exception-escape): then there is nothing to measure
  MPI_Init(&count, &words);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    shared.barrier = sg_barrier_init(static_cast<unsigned>(size));
    shared.ends.resize(static_cast<size_t>(size));
    MPI_Op_create(nothing, 1, &shared.operation);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  Rank self(rank, size, number<double>(words[1]));
  for (int i = 2; i < count; i++) self.job(words[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
