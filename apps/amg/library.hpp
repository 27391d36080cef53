// hypre's objects, each destroyed by its owner, and its errors as exceptions.
#ifndef APPS_AMG_LIBRARY_HPP
#define APPS_AMG_LIBRARY_HPP

#include "../common/mpi.hpp"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <memory>
#include <string>
#include <type_traits>

namespace amg {

// Throws if hypre reports an error. `what`: the operation.
void require(HYPRE_Int error, const std::string &what);

template <auto destroy> struct Destroying {
  template <class Object> void operator()(Object *object) const { destroy(object); }
};
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroying<destroy>>;

using Matrix = Owned<HYPRE_IJMatrix, HYPRE_IJMatrixDestroy>;
using Vector = Owned<HYPRE_IJVector, HYPRE_IJVectorDestroy>;
using Preconditioner = Owned<HYPRE_Solver, HYPRE_BoomerAMGDestroy>;

HYPRE_ParCSRMatrix object_of(const Matrix &matrix);
HYPRE_ParVector object_of(const Vector &vector);

} // namespace amg

#endif
