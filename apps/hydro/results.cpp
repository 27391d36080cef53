#include "results.hpp"

#include "initial.hpp"
#include "samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>

namespace hydro {

namespace {

// Sedov's similarity solution in three dimensions with gamma = 1.4: how far an energy drives a shock.
double sedov_radius(double energy, double time) {
  constexpr double alpha = 0.851072;
  return std::pow(energy / alpha * time * time, 0.2);
}

// Mean density of shells around the origin.
class Shells {
public:
  Shells(double width, std::size_t count) : width_(width), masses_(count), volumes_(count) {}

  void add(const Sample &sample) {
    const auto shell = static_cast<std::size_t>(length(sample.place) / width_);
    if (shell >= masses_.size()) return;
    masses_[shell] += sample.mass;
    volumes_[shell] += sample.mass / sample.density;
  }

  void reduce() {
    for (Vector *values : {&masses_, &volumes_})
      MPI_Allreduce(MPI_IN_PLACE, values->data(), static_cast<int>(values->size()), MPI_DOUBLE, MPI_SUM,
                    MPI_COMM_WORLD);
  }

  // Where, from outside, the density first reaches the mean of 1 and its peak.
  double front() const {
    double peak = 1;
    for (std::size_t n = 0; n < masses_.size(); ++n) peak = std::max(peak, density(n));
    const double half = 0.5 * (1 + peak);
    for (std::size_t n = masses_.size(); n-- > 0;) {
      if (density(n) < half) continue;
      const double outside = n + 1 < masses_.size() ? density(n + 1) : 1;
      return width_ * (static_cast<double>(n) + 0.5 + (density(n) - half) / (density(n) - outside));
    }
    return 0;
  }

private:
  double density(std::size_t shell) const {
    return volumes_[shell] > 0 ? masses_[shell] / volumes_[shell] : 1;
  }

  double width_;
  Vector masses_, volumes_;
};

void require_on_all_ranks(bool ok, const std::string &message) {
  int failed = ok ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (failed != 0) throw apps::UsageError(message);
}

// Rank by rank to rank 0.
std::vector<Sample> gathered(apps::World world, const std::vector<Sample> &mine) {
  static_assert(sizeof(Sample) % sizeof(double) == 0);
  constexpr int numbers = sizeof(Sample) / sizeof(double);
  const int count = static_cast<int>(mine.size()) * numbers;
  std::vector<int> counts(static_cast<std::size_t>(world.size)), starts(counts.size(), 0);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (std::size_t rank = 1; rank < starts.size(); ++rank) starts[rank] = starts[rank - 1] + counts[rank - 1];
  const int all = world.rank == 0 ? starts.back() + counts.back() : 0;
  std::vector<Sample> samples(static_cast<std::size_t>(all / numbers));
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, samples.data(), counts.data(), starts.data(), MPI_DOUBLE, 0,
              MPI_COMM_WORLD);
  return samples;
}

// Writes a temporary file first, so that the file is complete or absent.
bool write(const std::string &path, const std::vector<Sample> &samples) {
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished);
  file << "x,y,z,u,v,w,density,pressure,mass\n" << std::setprecision(17);
  for (const Sample &s : samples) {
    for (const double value : s.place) file << value << ',';
    for (const double value : s.velocity) file << value << ',';
    file << s.density << ',' << s.pressure << ',' << s.mass << '\n';
  }
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(unfinished, path, error);
  if (file && !error) return true;
  std::filesystem::remove(unfinished, error);
  return false;
}

} // namespace

void print_outcome(apps::World world, const Progress &progress, double norm, const Energies &before,
                   const Energies &after) {
  if (world.rank != 0) return;
  std::printf("steps        %d to time %.6f, %d repeated, next %.9f\n", progress.steps, progress.time,
              progress.repeated, progress.time_step);
  std::printf("norm         %.10e\n", norm);
  std::printf("energy       %.12f, kinetic %.12f, internal %.12f\n", after.total(), after.kinetic,
              after.internal);
  std::printf("change       %.3e of the energy\n", (after.total() - before.total()) / before.total());
}

void print_shock(const Parameters &p, const Discretization &d, apps::World world, const State &state,
                 double time) {
  if (p.problem != 1) return;
  const double width = d.length * d.kinematic_order / d.points();
  const double farthest = length({p.width_x, p.width_y, p.width_z});
  Shells shells(width, static_cast<std::size_t>(farthest / width) + 1);
  for (const Sample &sample : samples(d, state)) shells.add(sample);
  shells.reduce();
  if (world.rank == 0)
    std::printf("shock        %.6f, Sedov's %.6f\n", shells.front(), sedov_radius(p.blast_energy, time));
}

void print_costs(const Discretization &d, apps::World world, const Work &work, double seconds) {
  std::array<double, 5> slowest{work.velocity_solves, work.energy_solves, work.forces, work.updates, seconds};
  MPI_Allreduce(MPI_IN_PLACE, slowest.data(), static_cast<int>(slowest.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  if (world.rank != 0) return;
  const auto &[velocity, energy, forces, updates, all] = slowest;
  const auto rate = [](double amount, double time) { return time > 0 ? 1e-6 * amount / time : 0.0; };
  const double nodes = 3.0 * static_cast<double>(d.all_node_count());
  const double unknowns = nodes + static_cast<double>(d.all_energy_count());
  const double points = static_cast<double>(d.partition.all_zone_count()) * std::pow(d.points(), 3);
  const double solved = nodes * static_cast<double>(work.velocity_iterations) / 3;
  const double forced = unknowns * static_cast<double>(work.stages);
  const double updated = points * static_cast<double>(work.state_updates);
  std::printf("iterations   %ld of velocities, %ld of energies\n", work.velocity_iterations,
              work.energy_iterations);
  std::printf("velocity     %.6f s, %.3f million unknowns times iterations a second\n", velocity,
              rate(solved, velocity));
  std::printf("forces       %.6f s, %.3f million unknowns times stages a second\n", forces,
              rate(forced, forces));
  std::printf("updates      %.6f s, %.3f million points times updates a second\n", updates,
              rate(updated, updates));
  std::printf("kernels      %.6f s, %.3f million a second\n", velocity + forces + updates,
              rate(solved + forced + updated, velocity + forces + updates));
  std::printf("time         %.6f s, energies %.6f s\n", all, energy);
}

void write_points(const Parameters &p, const Discretization &d, apps::World world, const State &state) {
  const std::vector<Sample> all = gathered(world, samples(d, state));
  const bool ok = world.rank != 0 || write(p.points, all);
  require_on_all_ranks(ok, "-points " + p.points + " cannot be written");
}

} // namespace hydro
