// The mesh and the problem that the command line asks for.
#ifndef APPS_POISSON_MESH_HPP
#define APPS_POISSON_MESH_HPP

#include "hide/fem/operator/model_problem.hpp"
#include "parameters.hpp"

namespace poisson {

haloscope::fem::Forest mesh(MPI_Comm communicator, const Parameters &parameters);
haloscope::fem::Problem problem(const Parameters &parameters);

} // namespace poisson

#endif
