// The two spaces and the quadrature rule of a rank. It has the tables, the positions of zones' values, and
// the mass at each quadrature point, which never changes as the mesh moves with the gas.
#ifndef APPS_HYDRO_DISCRETIZATION_HPP
#define APPS_HYDRO_DISCRETIZATION_HPP

#include "contraction.hpp"
#include "materials.hpp"
#include "partition.hpp"

namespace hydro {

// Values of quadrature points, or of coefficients of energy, of all zones: batch by batch.
inline std::size_t in_batches(const Partition &partition, int n) {
  return static_cast<std::size_t>(partition.batches()) * tensor_size(n);
}

struct Discretization {
  Discretization(const Parameters &p, const Partition &partition);

  const Partition &partition;
  int kinematic_order, thermodynamic_order;
  Rule rule;
  Table kinematic_values, kinematic_slopes, thermodynamic_values;
  std::array<Vector, 3> edges;     // of zones along an axis at the start, of the whole mesh
  std::vector<Material> materials; // of this rank's zones
  double length = 1;               // of a zone at the start, a kinematic order's share of it; the mean
  Vector mass;                     // rho |J| w of quadrature points; 0 in lanes without a zone

  int points() const { return rule.size(); }
  int energies() const { return thermodynamic_order + 1; }
  // At the start, of a zone within the rank: its widths, and a coordinate between its sides, 0 to 1.
  Vector3 zone_widths(const Int3 &zone) const;
  double coordinate(std::size_t axis, int zone, double within) const;
  double weight(int i, int j, int k) const {
    const auto w = [&](int n) { return rule.weights[static_cast<std::size_t>(n)]; };
    return w(i) * w(j) * w(k);
  }
  std::size_t energy_count() const { return in_batches(partition, energies()); }
  long all_node_count() const { return partition.all_node_count(); }
  long all_energy_count() const { return partition.all_zone_count() * energies() * energies() * energies(); }
};

// The product over all ranks of two fields on owned nodes, and of two energies.
double dot_nodes(const Partition &partition, const Vector &a, const Vector &b);
double dot_energies(const Vector &a, const Vector &b);

// Over all ranks.
double sum(double local);

} // namespace hydro

#endif
