// The C++ interface on two ranks: sent data arrive, under the policy of each phase, and wrong settings throw
// an exception on both ranks. Rank 0 prints the results.
#include <haloscope/overlap.hpp>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>

namespace {

using haloscope::Overlap;
using haloscope::Regimes;

int rank = 0; // NOLINT

// Input is the other rank's number, output twice the sum of both.
struct Work {
  std::array<double, 4> buffers{}; // input: got, sent; output: got, sent
  double sum = 0;
  std::size_t items = 0;
  std::string order;

  void independent(std::size_t begin, std::size_t end) { items += end - begin; }
  void dependent() {
    order += 'D';
    sum = rank + buffers[0];
    buffers[3] = 2 * sum;
  }
  void stage(haloscope_overlap_stage which) {
    order += static_cast<char>('0' + which);
    if (which == HALOSCOPE_OVERLAP_PACK_INPUT) buffers[1] = rank;
  }
};

std::string complaint(const Overlap::Settings &settings) {
  try {
    const Overlap overlap{settings, 10, MPI_COMM_WORLD};
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "none";
}

std::string misread(const std::string &text) {
  std::istringstream stream{text};
  try {
    Regimes::read(stream);
  } catch (const std::invalid_argument &error) {
    return error.what();
  }
  return "none";
}

void run(const Overlap::Settings &settings) {
  Work work;
  std::array<MPI_Request, 4> requests{};
  for (int i = 0; i < 4; i += 2) {
    const auto at = static_cast<std::size_t>(i);
    MPI_Recv_init(&work.buffers[at], 1, MPI_DOUBLE, 1 - rank, i, MPI_COMM_WORLD, &requests[at]);
    MPI_Send_init(&work.buffers[at + 1], 1, MPI_DOUBLE, 1 - rank, i, MPI_COMM_WORLD, &requests[at + 1]);
  }
  const std::span<MPI_Request> all{requests};
  Overlap overlap{settings, 100, MPI_COMM_WORLD};
  for (int phase = 0; phase < settings.phases; phase++) {
    const auto times =
        overlap.run(work, all.subspan(0, 1), all.subspan(1, 1), all.subspan(2, 1), all.subspan(3, 1), phase);
    if (times.input_wait > times.input_block || times.output_wait > times.output_block) std::puts("blocks?");
  }
  if (rank == 0)
    std::printf("%g %g %zu %s %g\n", work.sum, work.buffers[2], work.items, work.order.c_str(),
                overlap.alpha());
  for (MPI_Request &request : requests) MPI_Request_free(&request);
}

} // namespace

int main(int argc, char **argv) { // NOLINT(bugprone-exception-escape): then the test fails
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::istringstream text{"family gaussian start 0.5 0.5\ntransition 0.9 0.1 0.1 0.9\n"
                          "input 1e-3 1e-4 0 1e-4 1e-5 0 output 1e-4 1e-5 0 1e-3 1e-4 0"};
  const Regimes regimes = Regimes::read(text);
  const auto model = regimes.view();
  Overlap::Settings settings = Overlap::defaults();
  settings.epsilon = 1; // no wait is that long, so α does not change
  settings.phases = 2;
  settings.regimes = &model;
  for (const int policy : {0, 1, 2, 3, 4}) {
    settings.policy = static_cast<haloscope_overlap_policy>(policy);
    settings.consistent = policy % 2;
    run(settings);
  }
  if (rank == 1) settings.theta = 2;
  const std::string wrong = complaint(settings);
  if (rank == 0)
    std::printf("%s\n%s\n%s\n", wrong.c_str(), misread("family cauchy").c_str(),
                misread("start 1 x").c_str());
  if (rank == 0) std::printf("%s\n", misread("start 0.5 0.5 transition 1").c_str());
  MPI_Finalize();
  return 0;
}
