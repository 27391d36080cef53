// Numbers of the whole mesh, the same to the last bit however it is divided among ranks.
#ifndef APPS_AMR_RESULTS_HPP
#define APPS_AMR_RESULTS_HPP

#include "mesh.hpp"

namespace amr {

// Each variable's integral, in cells of unrefined blocks.
std::vector<double> checksums(const Mesh &mesh);

struct Results {
  double squares = 0; // integral over all variables
  double low = 0, high = 0;
  std::uint64_t fingerprint = 0;
};
Results results(const Mesh &mesh);

} // namespace amr

#endif
