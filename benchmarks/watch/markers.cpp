/* Cost of an empty region in nanoseconds, through our markers and through other tools' markers. Prints one
 * line per case: name, median over rounds. */
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <caliper/cali.h>
#include <haloscope/region.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int rounds = 41;

void ours() {
  HALOSCOPE_REGION_BEGIN("empty");
  HALOSCOPE_REGION_END("empty");
}
void in_c() {
  CALI_MARK_BEGIN("empty");
  CALI_MARK_END("empty");
}
void in_cxx() { CALI_CXX_MARK_SCOPE("empty"); }

cali_id_t iteration;
void of_loop() {
  cali_begin_int(iteration, 1);
  cali_end(iteration);
}
void by_name() {
  cali_begin_string_byname("kind", "empty");
  cali_end_byname("kind");
}

struct Case {
  const char *name;
  void (*work)();
  std::array<double, rounds> times;
};

double once(void (*work)(), int calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; i++) work();
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - begin;
  return passed.count() / calls;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int calls = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 2000;
  iteration = cali_make_loop_iteration_attribute("loop");
  std::array cases{Case{"ours", ours, {}}, Case{"Caliper, C", in_c, {}}, Case{"Caliper, C++", in_cxx, {}},
                   Case{"Caliper, iteration", of_loop, {}}, Case{"Caliper, by name", by_name, {}}};
  for (const Case &one : cases) once(one.work, calls);
  for (int round = 0; round < rounds; round++)
    for (Case &one : cases) one.times[static_cast<std::size_t>(round)] = once(one.work, calls);
  for (Case &one : cases) {
    std::ranges::sort(one.times);
    std::printf("%s %.3f\n", one.name, one.times[rounds / 2]);
  }
  MPI_Finalize();
  return 0;
}
