// One rank in virtual time: the overlap library itself, with a synthetic clock and MPI, and latencies that
// the injector's own sources draw. Its partners behave as it does: they send contributions when it sends its
// own. Nothing runs in parallel, and no MPI is started.
//
//   virtual POLICY NANOSECONDS-OF-A-POLL STEPS LATE ITEMS EPSILON-NANOSECONDS
//
// Independent work takes a millisecond. LATE: "both" (input and contributions), "output" or "input". Standard
// input has a line, the plan (src/predict/latencies/plan.hpp) or "none", then a model of regimes, if the
// policy has one. Prints for each step its nanoseconds, α, polls, and the latencies of the input and of the
// output.
#include "predict/latencies/plan.hpp"

#include <haloscope/overlap.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <optional>
#include <string>

namespace {

using haloscope::latencies::Plan;
using haloscope::latencies::Source;

constexpr std::int64_t work = 1'000'000; // nanoseconds of all independent items

struct World {
  std::int64_t now = 1'000'000'000, poll = 0;
  std::int64_t item = 0;
  std::int64_t latency[2]{}; // of this step's input and output
  std::int64_t arrival[2]{};
  MPI_Request receives[2]{}; // identified by their address
};
World world; // NOLINT: state of MPI's functions below

std::size_t exchange_of(const MPI_Request *requests) {
  return static_cast<std::size_t>(requests - world.receives);
}

template <int exchange> int start(void * /*context*/, int sends) {
  if (sends != 0) world.arrival[exchange] = world.now + world.latency[exchange];
  return MPI_SUCCESS;
}

void independent(void * /*context*/, std::size_t begin, std::size_t end) {
  world.now += static_cast<std::int64_t>(end - begin) * world.item;
}
void dependent(void * /*context*/) {}

// Draws latencies as the injector does: each message is an instance.
class Latencies {
public:
  Latencies(const std::string &line, std::string late) : late_(std::move(late)) {
    if (line == "none") return;
    plan_ = haloscope::latencies::parse(line);
    source_.emplace(plan_.links[0], plan_.seed, 0, 0);
  }
  void draw() {
    world.latency[0] = late_ == "output" ? 0 : next();
    world.latency[1] = late_ == "input" ? 0 : next();
  }

private:
  std::int64_t next() {
    if (!source_) return 0;
    source_->advance(count_++);
    return std::llround(1e9 * source_->draw());
  }

  std::string late_;
  Plan plan_;
  std::optional<Source> source_;
  std::uint64_t count_ = 0;
};

} // namespace

// The library is linked to this clock and this MPI.
extern "C" {

int clock_gettime(clockid_t /*clock*/, timespec *tp) noexcept {
  *tp = {world.now / 1'000'000'000, world.now % 1'000'000'000};
  return 0;
}

int MPI_Testall(int /*count*/, MPI_Request *requests, int *flag, MPI_Status * /*statuses*/) {
  world.now += world.poll;
  *flag = world.arrival[exchange_of(requests)] <= world.now ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status * /*statuses*/) {
  if (count > 0) world.now = std::max(world.now, world.arrival[exchange_of(requests)]);
  return MPI_SUCCESS;
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int /*count*/, MPI_Datatype /*type*/,
                  MPI_Op /*operation*/, MPI_Comm /*comm*/) {
  *static_cast<int *>(recvbuf) = *static_cast<const int *>(sendbuf);
  return MPI_SUCCESS;
}
}

int main(int argc, char **argv) { // NOLINT(bugprone-exception-escape): then there is nothing to simulate
  if (argc != 7) return 2;
  const auto number = [&](int i) { return std::strtoll(argv[i], nullptr, 10); };
  const std::int64_t items = number(5);
  if (items < 1) return 2;
  auto settings = haloscope::Overlap::defaults();
  settings.policy = static_cast<haloscope_overlap_policy>(number(1));
  settings.epsilon = 1e-9 * static_cast<double>(number(6));
  world.poll = number(2);
  world.item = work / items;
  std::string line;
  std::getline(std::cin, line);
  Latencies latencies{line, argv[4]};
  std::optional<haloscope::Regimes> regimes;
  std::optional<haloscope_overlap_regimes> view;
  if (settings.policy == HALOSCOPE_OVERLAP_REGIMES) {
    regimes = haloscope::Regimes::read(std::cin);
    view = regimes->view();
    settings.regimes = &*view;
  }
  haloscope_overlap *overlap = nullptr;
  if (haloscope_overlap_create(&settings, static_cast<std::size_t>(items), MPI_COMM_SELF, &overlap) !=
      MPI_SUCCESS) {
    std::fprintf(stderr, "%s\n", haloscope_overlap_error());
    return 2;
  }
  const haloscope_overlap_pattern pattern{nullptr,
                                          independent,
                                          dependent,
                                          nullptr,
                                          {&world.receives[0], 1, nullptr, 0, start<0>},
                                          {&world.receives[1], 1, nullptr, 0, start<1>}};
  for (std::int64_t step = 0; step < number(3); step++) {
    latencies.draw();
    const std::int64_t begin = world.now;
    haloscope_overlap_times times{};
    haloscope_overlap_run(overlap, 0, &pattern, &times);
    std::printf("%lld %.6f %zu %lld %lld\n", static_cast<long long>(world.now - begin), times.alpha,
                times.polls, static_cast<long long>(world.latency[0]),
                static_cast<long long>(world.latency[1]));
  }
  haloscope_overlap_free(overlap);
  return 0;
}
