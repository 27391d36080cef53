// Time steps: exchanges and averages, then objects move and blocks refine.
#ifndef APPS_AMR_SIMULATION_HPP
#define APPS_AMR_SIMULATION_HPP

#include "block.hpp"
#include "halo.hpp"
#include "mesh.hpp"

namespace amr {

// Seconds on this rank; refinement includes balance.
struct Seconds {
  double total = 0, communication = 0, stencil = 0, refinement = 0, balance = 0;
};

class Simulation {
public:
  Simulation(const Parameters &p, apps::World world);
  void run();

  const Mesh &mesh() const { return mesh_; }
  const Seconds &seconds() const { return seconds_; }
  const Traffic &traffic() const { return halo_.traffic(); }
  const std::vector<double> &sums() const { return sums_; }
  double drift() const { return drift_; }
  int refinements() const { return refinements_; }
  int moved() const { return moved_; }

private:
  void refine(int levels);
  void balance();
  void step();
  void stage();
  void check();

  Parameters p_;
  Mesh mesh_;
  Halo halo_;
  Stencil stencil_;
  int rank_;
  std::vector<Object> objects_;
  std::vector<double> first_sums_, sums_;
  double drift_ = 0; // the largest change of any variable's sum, relative to it
  int stages_ = 0, refinements_ = 0, moved_ = 0;
  Seconds seconds_;
};

} // namespace amr

#endif
