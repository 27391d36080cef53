#include "hierarchy.hpp"

#include <_hypre_parcsr_ls.h>

namespace amg {

namespace {

hypre_ParAMGData *records(const Preconditioner &multigrid) {
  return reinterpret_cast<hypre_ParAMGData *>(multigrid.get());
}

} // namespace

int levels(const Preconditioner &multigrid) { return hypre_ParAMGDataNumLevels(records(multigrid)); }

#if HYPRE_RELEASE_NUMBER >= 22700

void want_entries(HYPRE_Solver multigrid) { HYPRE_BoomerAMGSetCumNnzAP(multigrid, 1); }

double entries(const Preconditioner &multigrid) {
  HYPRE_Real sum = 0;
  HYPRE_BoomerAMGGetCumNnzAP(multigrid.get(), &sum);
  return sum;
}

#else

void want_entries(HYPRE_Solver) {}

namespace {

double entries_of(hypre_ParCSRMatrix *matrix) {
  return double(hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixDiag(matrix))) +
         double(hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixOffd(matrix)));
}

} // namespace

double entries(const Preconditioner &multigrid) {
  hypre_ParAMGData *data = records(multigrid);
  double sum = entries_of(hypre_ParAMGDataAArray(data)[0]);
  for (int level = 1; level < levels(multigrid); ++level)
    sum +=
        entries_of(hypre_ParAMGDataAArray(data)[level]) + entries_of(hypre_ParAMGDataPArray(data)[level - 1]);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

#endif

} // namespace amg
