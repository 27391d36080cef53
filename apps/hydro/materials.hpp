// The gas in a zone at the start, and the mesh that holds it.
#ifndef APPS_HYDRO_MATERIALS_HPP
#define APPS_HYDRO_MATERIALS_HPP

#include "matrix3.hpp"
#include "parameters.hpp"
#include "polynomials.hpp"

namespace hydro {

struct Material {
  double gamma, density;
  double energy; // per mass; of the triple point, the other problems set it themselves
};

// The material of the zone around `centre`, a place at the start.
Material material_of(const Parameters &p, const Vector3 &centre);

// The sides of all zones along an axis.
Vector mesh_edges(const Parameters &p, std::size_t axis);

} // namespace hydro

#endif
