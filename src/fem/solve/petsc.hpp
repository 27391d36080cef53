// PETSc's objects with owners, its error codes as exceptions, and matrices that PETSc applies by calling us.
#pragma once

#include "fem/mesh/communicator.hpp"
#include "fem/operator/operator.hpp"
#include "fem/solve/linear.hpp"

#include <petscksp.h>

#include <memory>
#include <string>
#include <utility>

namespace haloscope::fem {

// Between MPI_Init and MPI_Finalize. PETSC_OPTIONS of the environment is obeyed.
class PetscSession {
public:
  PetscSession();
  ~PetscSession();
  PetscSession(const PetscSession &) = delete;
  PetscSession &operator=(const PetscSession &) = delete;
};

void check(PetscErrorCode code, const char *what);

template <typename Object, PetscErrorCode (*Destroy)(Object *)> class Owned {
public:
  Owned() = default;
  explicit Owned(Object object) : object_(object) {}
  Owned(Owned &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() {
    if (object_) static_cast<void>(Destroy(&object_));
  }
  Object get() const { return object_; }
  Object *put() { return &object_; } // for functions that create

private:
  Object object_ = nullptr;
};

using OwnedMat = Owned<Mat, MatDestroy>;
using OwnedVec = Owned<Vec, VecDestroy>;
using OwnedKSP = Owned<KSP, KSPDestroy>;

// Runs `work` in a function that PETSc calls: no exception may pass through PETSc's frames.
template <typename Work> PetscErrorCode guarded(Work &&work) {
  try {
    std::forward<Work>(work)();
    return 0;
  } catch (const std::exception &error) {
    return PetscError(PETSC_COMM_SELF, __LINE__, __func__, __FILE__, PETSC_ERR_LIB, PETSC_ERROR_INITIAL, "%s",
                      error.what());
  }
}

// Matrices that PETSc applies by calling us, on its own arrays: nothing is copied.

// A rectangular matrix: y = A x and, if given, its transpose.
struct Map {
  MPI_Comm comm = MPI_COMM_NULL;
  std::size_t rows = 0, columns = 0; // owned
  std::function<void(const double *x, double *y)> apply, transpose;
};

class Shell {
public:
  Shell(const Linear &matrix, int phase);
  explicit Shell(Map map);
  Mat mat() const { return mat_.get(); }
  std::int64_t applications() const { return context_->applications; }

  struct Context {
    Map map;
    std::function<void(double *)> diagonal;
    std::int64_t applications = 0;
  };

private:
  void create();

  std::unique_ptr<Context> context_; // before the matrix: PETSc may outlive neither
  OwnedMat mat_;
};

// Returns a matrix in memory. Ranks may hold entries of one another's rows.
OwnedMat assembled(MPI_Comm comm, std::size_t rows, std::span<const Triplet> entries);

} // namespace haloscope::fem
