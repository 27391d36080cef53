// A V-cycle for the conjugate gradients: PETSc's PCMG over matrices that are only applied, with
// Chebyshev-Jacobi smoothers and algebraic multigrid (GAMG) on the coarsest, assembled level.
#pragma once

#include "fem/mesh/hierarchy.hpp"
#include "fem/operator/operator.hpp"
#include "fem/solve/chebyshev.hpp"
#include "fem/solve/petsc.hpp"

#include <memory>
#include <string>
#include <vector>

namespace haloscope::fem {

// A smoother of degree 2 weakens from elements of degree 6 on: a third step costs less than the iterations
// that it saves there.
constexpr int smoother_of(int element_degree) { return element_degree < 6 ? 2 : 3; }

struct GridLevel {
  Linear matrix;
  int smoother; // its degree, 1 to 4
  // From and to the next coarser level; empty on the coarsest.
  std::function<void(const double *coarse, double *fine)> interpolate;
  std::function<void(const double *fine, double *coarse)> restrict_to;
};

using OwnedPC = Owned<PC, PCDestroy>;

class Multigrid {
public:
  // Collective. Levels are finest first; `coarsest` are the entries of the last one's matrix. It is smoothed
  // before and after.
  Multigrid(const std::vector<GridLevel> &levels, std::span<const Triplet> coarsest);
  PC pc() const { return pc_.get(); }
  Mat matrix() const; // the finest, in the phase of the energy product
  std::size_t levels() const { return grids_.size() + 1; }

private:
  struct Grid {
    Shell smoothing, residual, interpolation, restriction;
    Chebyshev smoother;
  };
  void add(const GridLevel &fine, const GridLevel &coarse, PetscInt index);
  void set_coarsest(std::span<const Triplet> entries, std::size_t rows, MPI_Comm comm);

  std::vector<std::unique_ptr<Grid>> grids_; // finest first, without the coarsest
  Shell energy_;
  OwnedMat coarsest_;
  OwnedPC pc_; // last: it goes first
};

// One problem on all levels of a hierarchy: operators, transfers between them, and multigrid made of both.
class Grids {
public:
  // Collective. Each level's operator has an alpha for each Phase; `settings.overlap.region` names the
  // finest's instances when watched, level N's are region-level-N.
  Grids(Forest finest, int degree, Coefficient coefficient, const OperatorSettings &settings,
        const HierarchySettings &hierarchy = {});

  const Level &finest() const { return hierarchy_.levels().front(); }
  const Hierarchy &hierarchy() const { return hierarchy_; }
  Operator &operator_of(std::size_t level) { return operators_.at(level); }
  Linear linear(std::size_t level); // for as long as this lives and does not move
  // Makes the transfers, and what solves on the coarsest level. The smoothers' degree is 1 to 4, or 0: each
  // level's own smoother_of().
  std::unique_ptr<Multigrid> multigrid(int smoother_degree = 0);

private:
  std::vector<std::unique_ptr<std::string>> regions_;
  Coefficient coefficient_;
  Hierarchy hierarchy_;
  std::vector<Operator> operators_;
  std::vector<Transfer> transfers_;
};

} // namespace haloscope::fem
