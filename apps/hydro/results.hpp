// The printed results, and the file of all quadrature points.
#ifndef APPS_HYDRO_RESULTS_HPP
#define APPS_HYDRO_RESULTS_HPP

#include "../common/program.hpp"
#include "time_integration.hpp"

namespace hydro {

void print_outcome(apps::World world, const Progress &progress, double norm, const Energies &before,
                   const Energies &after);

// Of the blast: where the shock is, and where Sedov's solution has it.
void print_shock(const Parameters &p, const Discretization &d, apps::World world, const State &state,
                 double time);

// Seconds and rates as Laghos defines them, of the slowest rank.
void print_costs(const Discretization &d, apps::World world, const Work &work, double seconds);

// Place, velocity, density, pressure and mass of each quadrature point, as CSV. Throws UsageError on all
// ranks if the file cannot be written.
void write_points(const Parameters &p, const Discretization &d, apps::World world, const State &state);

} // namespace hydro

#endif
