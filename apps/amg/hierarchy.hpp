// Facts about a finished multigrid setup that hypre's public interface does not report.
#ifndef APPS_AMG_HIERARCHY_HPP
#define APPS_AMG_HIERARCHY_HPP

#include "library.hpp"

namespace amg {

int levels(const Preconditioner &multigrid);
// Makes hypre count, from 2.27 on, what `entries` returns; before the setup.
void want_entries(HYPRE_Solver multigrid);
// Entries of the matrices of all levels, and of the interpolations between them: AMG2023's measure of work.
// Collective.
double entries(const Preconditioner &multigrid);

} // namespace amg

#endif
