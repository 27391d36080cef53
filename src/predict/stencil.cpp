// Exchanges with neighbours on a Cartesian grid of ranks: with all neighbours, with those on other nodes, and
// with those on the same node. For overlap: communication alone, computation of the same length, and both.
// `haloscope bench halo` starts it and reads the JSON lines that rank 0 prints.
#include "predict/grid/computation.hpp"
#include "predict/grid/neighbours.hpp"
#include "predict/measure/command_line.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>

namespace {

using grid::Halo;
using grid::Part;
using pairs::now;
// A list a part.
using Samples = std::vector<std::vector<double>>;

struct Plan {
  std::vector<long long> sizes;
  long long threshold = 0; // from so many bytes on the numbers for large messages hold
  long long iterations[2] = {};
  long long warmup[2] = {};
  double pause = 0;      // seconds before each exchange
  double test_every = 0; // seconds of computation between two looks at the messages, 0: none
  bool overlaps = false;
  bool late = false; // receives are posted after the computation
  bool by_mpi = false;

  [[nodiscard]] size_t kind(long long bytes) const { return bytes < threshold ? 0 : 1; }
};

Plan plan_of(const measure::Options &options) {
  Plan plan;
  plan.sizes = options.integers("sizes");
  plan.threshold = options.integer("threshold", 0);
  plan.iterations[0] = options.integer("iterations", 1000);
  plan.iterations[1] = options.integer("large-iterations", 100);
  plan.warmup[0] = options.integer("warmup", 100);
  plan.warmup[1] = options.integer("large-warmup", 10);
  plan.pause = options.number("pause", 0);
  plan.test_every = options.number("test-every", 0);
  plan.overlaps = options.text("test", "stencil") == "overlap";
  plan.late = options.integer("late", 0) != 0;
  plan.by_mpi = options.text("memory", "alloc") == "alloc";
  return plan;
}

void sleep_for(double seconds) {
  if (seconds <= 0) return;
  const auto whole = static_cast<time_t>(seconds);
  const timespec time{whole, static_cast<long>(1e9 * (seconds - static_cast<double>(whole)))};
  nanosleep(&time, nullptr);
}

// Seconds of the slowest rank, on all ranks.
std::vector<double> slowest(const grid::Grid &grid, std::vector<double> times) {
  MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX, grid.comm());
  return times;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Measurement {
public:
  Measurement(const grid::Grid &grid, const Plan &plan, long long bytes, grid::LibraryBuffers library)
      : grid_(&grid), plan_(&plan), halo_(grid, static_cast<size_t>(bytes), plan.by_mpi, library),
        iterations_(plan.iterations[plan.kind(bytes)]), warmup_(plan.warmup[plan.kind(bytes)]) {}

  [[nodiscard]] bool allocated() const { return halo_.allocated(); }
  [[nodiscard]] bool right() const { return right_; }

  Samples parts() {
    return by_turns({[this] { return exchange(Part::total); }, [this] { return exchange(Part::inter); },
                     [this] { return exchange(Part::intra); }});
  }

  // Communication, computation, both.
  Samples overlap(grid::Work &work) {
    const double alone = median(by_turns({[this] { return exchange(Part::total); }})[0]);
    const std::int64_t first = work.units(alone);
    // Ranks that share cores take longer than that.
    const double taken = median(by_turns({[&] { return compute(work, first); }})[0]);
    const auto units = std::max<std::int64_t>(std::llround(static_cast<double>(first) * alone / taken), 1);
    const std::int64_t step = plan_->test_every > 0 ? work.units(plan_->test_every) : 0;
    return by_turns({[this] { return exchange(Part::total); }, [&] { return compute(work, units); },
                     [&] { return both(work, units, step); }});
  }

private:
  // Sample i of each part is of turn i. Turns have all orders of the parts: a part finds caches, links and
  // windows as the part before it has left them.
  Samples by_turns(const std::vector<std::function<double()>> &parts) {
    Samples samples(parts.size());
    std::vector<size_t> order(parts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (long long i = 0; i < warmup_ + iterations_; i++) {
      for (const size_t part : order) {
        const double time = parts[part]();
        if (i >= warmup_) samples[part].push_back(time);
      }
      std::ranges::next_permutation(order);
    }
    for (auto &part : samples) part = slowest(*grid_, std::move(part));
    return samples;
  }

  double begin(Part part) {
    halo_.fill(part, ++round_);
    if (plan_->pause > 0) sleep_for(plan_->pause);
    MPI_Barrier(grid_->comm());
    return now();
  }

  double end(double begun) {
    const double time = now() - begun;
    if (!halo_.read_all()) right_ = false;
    return time;
  }

  double exchange(Part part) {
    const double begun = begin(part);
    halo_.post_receives();
    halo_.send();
    halo_.finish();
    return end(begun);
  }

  double compute(grid::Work &work, std::int64_t units) {
    MPI_Barrier(grid_->comm());
    const double begun = now();
    work(units, 0, [] {});
    return now() - begun;
  }

  double both(grid::Work &work, std::int64_t units, std::int64_t step) {
    const double begun = begin(Part::total);
    bool done = false;
    if (!plan_->late) halo_.post_receives();
    halo_.send();
    work(units, step, [&] {
      if (!done) done = halo_.test();
    });
    if (plan_->late) halo_.post_receives();
    if (plan_->late || !done) halo_.finish();
    return end(begun);
  }

  const grid::Grid *grid_;
  const Plan *plan_;
  Halo halo_;
  long long iterations_, warmup_;
  std::uint64_t round_ = 0;
  bool right_ = true;
};

void write(std::ostringstream &line, const char *key, const std::vector<double> &samples) {
  line << ",\"" << key << "\":[";
  for (size_t i = 0; i < samples.size(); i++) line << (i ? "," : "") << samples[i] * 1e9;
  line << "]";
}

void print_start(const grid::Grid &grid) {
  long long near = 0, all = 0;
  for (const auto &one : grid.neighbours()) (one.near ? near : all)++;
  all += near;
  long long mine[2] = {near, all}, sums[2] = {}, most = 0;
  MPI_Reduce(static_cast<const void *>(mine), static_cast<void *>(sums), 2, MPI_LONG_LONG, MPI_SUM, 0,
             grid.comm());
  MPI_Reduce(&all, &most, 1, MPI_LONG_LONG, MPI_MAX, 0, grid.comm());
  std::ostringstream line;
  line << R"({"record":"start","nodes":)" << grid.nodes() << R"(,"messages":)" << sums[1] << R"(,"intra":)"
       << sums[0] << R"(,"most":)" << most << R"(,"sides":[)";
  for (size_t i = 0; i < grid.sides().size(); i++) line << (i ? "," : "") << grid.sides()[i];
  if (grid.rank() == 0) pairs::print(line.str() + "]}");
}

void print_point(const Plan &plan, long long bytes, const Samples &samples, bool right) {
  std::ostringstream line;
  line.precision(7);
  line << R"({"record":"point","bytes":)" << bytes << R"(,"right":)" << (right ? "true" : "false");
  const char *const names[2][3] = {{"total", "inter", "intra"}, {"communication", "computation", "both"}};
  for (size_t part = 0; part < samples.size(); part++)
    write(line, names[plan.overlaps ? 1 : 0][part], samples[part]);
  pairs::print(line.str() + "}");
}

bool everywhere(const grid::Grid &grid, bool mine) {
  int well = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &well, 1, MPI_INT, MPI_MIN, grid.comm());
  return well != 0;
}

// Returns the error, or nothing.
std::string_view measure_sizes(const grid::Grid &grid, const Plan &plan, grid::LibraryBuffers library) {
  grid::Work work;
  for (const long long bytes : plan.sizes) {
    Measurement measurement{grid, plan, bytes, library};
    if (!everywhere(grid, measurement.allocated())) return "no memory for buffers of that size";
    const Samples samples = plan.overlaps ? measurement.overlap(work) : measurement.parts();
    const bool right = everywhere(grid, measurement.right());
    if (grid.rank() == 0) print_point(plan, bytes, samples, right);
  }
  return "";
}

} // namespace

int main(int count, char **arguments) { // NOLINT(bugprone-exception-escape): then there is nothing to measure
  MPI_Init(&count, &arguments);
  const measure::Options options(count, arguments);
  {
    const grid::Grid grid(static_cast<int>(options.integer("dims", 3)), options.integer("periodic", 0) != 0);
    const bool wanted = options.integer("null-buffers", 0) != 0;
    const auto library = wanted ? grid::LibraryBuffers::find() : grid::LibraryBuffers{};
    print_start(grid);
    const std::string_view error = everywhere(grid, !wanted || library.exist())
                                       ? measure_sizes(grid, plan_of(options), library)
                                       : "no MPIX_Get_recv_buf: the shm library is not loaded";
    if (grid.rank() == 0 && !error.empty())
      pairs::print(R"({"record":"error","text":)" + pairs::quote(std::string(error)) + "}");
  }
  MPI_Finalize();
  return 0;
}
