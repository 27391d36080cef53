// The problem and its division, from the command line. Names and defaults are Laghos's, except for the
// Runge-Kutta method.
#ifndef APPS_HYDRO_PARAMETERS_HPP
#define APPS_HYDRO_PARAMETERS_HPP

#include "../common/options.hpp"

namespace hydro {

using apps::Int3;

struct Parameters {
  int problem = 1, dimension = 3;
  int nx = 2, ny = 2, nz = 2;
  int serial_refinements = 2, parallel_refinements = 0;
  int kinematic_order = 2, thermodynamic_order = 1, integration_order = -1;
  int method = 7;
  double final_time = 0.6, cfl = 0.5, blast_energy = 1;
  double width_x = 1, width_y = 1, width_z = 1;
  double tolerance = 1e-8;
  int iterations = 300, steps = -1, report_every = 5;
  std::string grid = "auto", points;
  bool partial_assembly = false, verbose = false;
  Int3 procs{1, 1, 1}; // from `grid`

  bool is_triple_point() const { return problem == 3; }
  // Zones of the whole mesh.
  Int3 zones() const {
    const int refinements = serial_refinements + parallel_refinements;
    return {nx << refinements, ny << refinements, nz << refinements};
  }
  std::array<double, 3> widths() const { return {width_x, width_y, width_z}; }
  // Points of the Gauss rule along an axis: those that integrate polynomials of the order exactly.
  int points_1d() const {
    const int order =
        integration_order > 0 ? integration_order : 3 * kinematic_order + thermodynamic_order - 1;
    return order / 2 + 1;
  }
};

apps::Options options(Parameters &p);

// Fills in what other options determine, and checks all; throws UsageError.
void complete(Parameters &p, int ranks);

} // namespace hydro

#endif
