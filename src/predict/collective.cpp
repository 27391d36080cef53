// Measures one collective with one algorithm at many sizes. The command line specifies the measurement, and
// the environment chooses the algorithm. Without sizes on the command line, rank 0 reads lines with the same
// words and the library's control variables for the algorithm, until an empty line.
//
// The method is that of the OSU benchmarks: each rank times its own call, and a barrier follows, so that
// calls do not pile up. Or windows (--synchronisation window): all ranks begin when a common clock shows the
// same time, and a sample is the time until a rank has finished. Samples in which a rank began late are left
// out.
//
// Prints a JSON line when a point begins, and one when it is complete.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "predict/measure/command_line.hpp"
#include "predict/measure/controls.hpp"
#include "predict/measure/operation.hpp"
#include "predict/measure/printing.hpp"

namespace {

using measure::Clock;
using measure::Element;
using measure::nanoseconds;
using measure::Operation;
using measure::Options;
using measure::Point;
using measure::quote;
using measure::World;

struct Plan {
  std::string collective;
  Element element;
  bool windows = false;
  long long warmup = 100;
  long long iterations = 1000;
  long long untimed = -1;   // calls before each timed one if data are checked, else -1
  double precision = 0;     // stop when the median is known so well, 0: never
  double deviations = 1.96; // of the confidence
  [[nodiscard]] bool validates() const { return untimed >= 0; }
  [[nodiscard]] long long batch() const {
    if (precision > 0) return std::max(10LL, iterations / 10);
    return windows ? 100 : iterations;
  }
};

// The results of one batch on one rank.
struct Batch {
  std::vector<long long> samples;
  std::vector<long long> late;
  int error = MPI_SUCCESS;
  bool wrong = false;
};

// Before a timed call whose data are checked: fresh data, and calls that warm the caches again.
void prepare(const Plan &plan, Operation &operation, Batch &batch) {
  if (!plan.validates()) return;
  operation.fill();
  for (long long i = 0; i < plan.untimed && batch.error == MPI_SUCCESS; i++) batch.error = operation();
  MPI_Barrier(MPI_COMM_WORLD);
}

Batch with_barriers(const Plan &plan, Operation &operation, long long iterations) {
  Batch batch;
  batch.samples.reserve(static_cast<size_t>(iterations));
  for (long long i = 0; i < iterations; i++) {
    prepare(plan, operation, batch);
    const double begin = MPI_Wtime();
    if (batch.error == MPI_SUCCESS) batch.error = operation();
    const double end = MPI_Wtime();
    batch.samples.push_back(nanoseconds(end - begin));
    if (plan.validates() && batch.error == MPI_SUCCESS && !operation.right()) batch.wrong = true;
    if (!operation.synchronises()) MPI_Barrier(MPI_COMM_WORLD);
  }
  batch.late.assign(batch.samples.size(), 0);
  return batch;
}

Batch in_windows(const Plan &plan, Operation &operation, long long iterations, const World &world,
                 const Clock &clock, double window) {
  Batch batch;
  const double first = measure::broadcast(world, clock.global() + 1e-3 + 1e-5 * world.size);
  for (long long i = 0; i < iterations; i++) {
    const double begin = first + static_cast<double>(i) * window;
    double now = clock.global();
    batch.late.push_back(now > begin ? 1 : 0);
    while (now < begin) now = clock.global();
    if (batch.error == MPI_SUCCESS) batch.error = operation();
    batch.samples.push_back(nanoseconds(clock.global() - begin));
  }
  if (plan.validates()) batch.wrong = batch.error == MPI_SUCCESS && !operation.right();
  return batch;
}

// Adds a batch to the point, on rank 0; on all ranks: true if all was well.
bool take(const World &world, const Batch &batch, Point &point) {
  const auto samples = measure::gather(world, batch.samples);
  const auto late = measure::gather(world, batch.late);
  point.error = static_cast<int>(measure::largest(world, batch.error));
  point.wrong = measure::largest(world, batch.wrong ? 1 : 0) > 0;
  if (world.root()) {
    point.samples.resize(static_cast<size_t>(world.size));
    for (size_t i = 0; i < batch.samples.size(); i++) {
      const auto was_late = [i](const auto &rank) { return rank[i] != 0; };
      if (std::ranges::any_of(late, was_late)) {
        point.invalid++;
        continue;
      }
      for (size_t rank = 0; rank < samples.size(); rank++) point.samples[rank].push_back(samples[rank][i]);
    }
  }
  return point.error == MPI_SUCCESS && !point.wrong;
}

// Half the interval of the median of the slowest ranks' times, relative to it.
double imprecision(const Point &point, double deviations) {
  const size_t count = point.samples[0].size();
  if (count < 20) return 1;
  std::vector<long long> slowest(count, 0);
  for (const auto &rank : point.samples)
    for (size_t i = 0; i < count; i++) slowest[i] = std::max(slowest[i], rank[i]);
  std::ranges::sort(slowest);
  const double half = deviations * std::sqrt(static_cast<double>(count)) / 2;
  const double middle = static_cast<double>(count) / 2;
  const auto low = static_cast<size_t>(std::max(middle - half - 1, 0.0));
  const auto high = std::min(static_cast<size_t>(std::ceil(middle + half)), count - 1);
  const auto median = static_cast<double>(std::max(slowest[count / 2], 1LL));
  return static_cast<double>(slowest[high] - slowest[low]) / 2 / median;
}

// On all ranks: true if there is enough to leave off.
bool enough(const World &world, const Plan &plan, const Point &point) {
  double answer = 0;
  if (world.root()) {
    const auto valid = static_cast<long long>(point.samples[0].size());
    const bool precise = plan.precision > 0 && imprecision(point, plan.deviations) <= plan.precision;
    answer = valid >= plan.iterations || precise ? 1 : 0;
  }
  return measure::broadcast(world, answer) > 0;
}

// A window that nine in ten of the warm-up calls fit into on every rank, three times.
double first_window(const World &world, Batch batch) {
  std::ranges::sort(batch.samples);
  const size_t at = batch.samples.size() * 9 / 10;
  const long long usual = batch.samples.empty() ? 0 : batch.samples[at];
  return measure::largest(world, 3e-9 * static_cast<double>(usual) + 5e-6);
}

Point measure_point(const World &world, const Plan &plan, Operation &operation, Clock &clock) {
  Point point;
  Plan warm = plan;
  warm.untimed = -1;
  const long long warmup = plan.windows ? std::max(plan.warmup, 10LL) : plan.warmup;
  const Batch first = with_barriers(warm, operation, warmup);
  point.error = static_cast<int>(measure::largest(world, first.error));
  if (point.error != MPI_SUCCESS) return point;
  if (plan.windows) {
    clock.synchronise(world);
    point.window = first_window(world, first);
  }
  // Some samples in windows are late, so up to ten times the iterations are tried.
  for (long long tried = 0; tried < 10 * plan.iterations;) {
    const long long begun = std::min(plan.batch(), plan.iterations);
    const long long before = point.invalid;
    const Batch batch = plan.windows ? in_windows(plan, operation, begun, world, clock, point.window)
                                     : with_barriers(plan, operation, begun);
    if (!take(world, batch, point) || enough(world, plan, point)) break;
    tried += begun;
    if (plan.windows) {
      const double share = static_cast<double>(point.invalid - before) / static_cast<double>(begun);
      if (measure::broadcast(world, share) > 0.1) point.window *= 1.5;
      clock.synchronise(world);
    }
  }
  return point;
}

Plan make_plan(const Options &options) {
  Plan plan;
  plan.collective = options.text("collective", "barrier");
  plan.element = Element::of(options.text("type", "char"));
  plan.windows = options.text("synchronisation", "barrier") == "window";
  plan.untimed = options.integer("validate", plan.untimed);
  plan.precision = options.number("precision", plan.precision);
  plan.deviations = options.number("deviations", plan.deviations);
  return plan;
}

// One number for each size, or one for all of them.
long long at(const std::vector<long long> &numbers, size_t place, long long otherwise) {
  return numbers.empty() ? otherwise : numbers[std::min(place, numbers.size() - 1)];
}

void run(const World &world, MPI_Comm communicator, const Plan &plan, Clock &clock, long long bytes) {
  if (world.root()) {
    std::printf("{\"record\":\"begin\",\"bytes\":%lld}\n", bytes);
    std::fflush(stdout);
  }
  Operation operation(plan.collective, world, communicator, plan.element, bytes);
  const std::string_view obstacle = operation.obstacle();
  if (!operation.known() || !obstacle.empty()) {
    if (world.root())
      std::printf("{\"record\":\"point\",\"bytes\":%lld,\"status\":\"unsupported\","
                  "\"reason\":%s}\n",
                  bytes, quote(std::string(operation.known() ? obstacle : "no such collective")).c_str());
    return;
  }
  const Point point = measure_point(world, plan, operation, clock);
  if (world.root()) measure::print_point(point, bytes, clock.error());
}

// Measures all sizes in the options. False if the library does not accept the settings.
bool measure_all(const World &world, const Options &options, measure::Controls &controls, Clock &clock) {
  const bool taken = controls.write(options.settings("settings"));
  if (measure::largest(world, taken ? 0 : 1) > 0) return false;
  Plan plan = make_plan(options);
  const auto sizes = options.integers("sizes");
  const auto warmups = options.integers("warmup");
  const auto iterations = options.integers("iterations");
  MPI_Comm communicator = MPI_COMM_WORLD;
  // Some libraries look at their variables when a communicator is made, others at each call.
  const bool own = options.text("communicator", "") == "new";
  if (own) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  for (size_t place = 0; place < sizes.size(); place++) {
    plan.warmup = at(warmups, place, plan.warmup);
    plan.iterations = at(iterations, place, plan.iterations);
    run(world, communicator, plan, clock, sizes[place]);
  }
  if (own) MPI_Comm_free(&communicator);
  return true;
}

// The next line of rank 0's input, on all ranks; empty at its end, too.
std::string next_line(const World &world) {
  std::string line;
  if (world.root()) std::getline(std::cin, line);
  return measure::broadcast(world, line);
}

} // namespace

int main(int count, char **words) {
  MPI_Init(&count, &words);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  bool taken = true;
  {
    const World world = World::make();
    const Options options(count, words);
    measure::Controls controls;
    Clock clock;
    measure::print_start(world);
    if (options.has("sizes")) {
      taken = measure_all(world, options, controls, clock);
    } else {
      for (std::string line; taken && !(line = next_line(world)).empty();)
        taken = measure_all(world, Options(options, line), controls, clock);
    }
  }
  MPI_Finalize();
  return taken ? 0 : 1;
}
