// Matrices that PETSc applies by calling us, on its own arrays: nothing is copied.
#pragma once

#include "hide/fem/operator/operator.hpp"
#include "hide/fem/solve/linear.hpp"
#include "hide/fem/solve/petsc.hpp"

#include <memory>

namespace haloscope::fem {

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

// A matrix in memory from entries that ranks may hold of one another's rows.
OwnedMat assembled(MPI_Comm comm, std::size_t rows, std::span<const Triplet> entries);

} // namespace haloscope::fem
