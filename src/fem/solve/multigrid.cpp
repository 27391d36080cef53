#include "fem/solve/multigrid.hpp"

#include "fem/operator/assembly.hpp"

namespace haloscope::fem {

namespace {

// PETSc calls it as its Richardson iteration: the preconditioner does the whole iteration itself.
PetscErrorCode smooth(PC pc, Vec b, Vec x, Vec, PetscReal, PetscReal, PetscReal, PetscInt sweeps,
                      PetscBool zero_guess, PetscInt *done, PCRichardsonConvergedReason *reason) {
  return guarded([&] {
    void *context = nullptr;
    check(PCShellGetContext(pc, static_cast<void *>(&context)), "smoother");
    const double *in = nullptr;
    double *out = nullptr;
    check(VecGetArrayRead(b, &in), "smoother's input");
    check(VecGetArray(x, &out), "smoother's output");
    for (PetscInt sweep = 0; sweep < sweeps; ++sweep)
      static_cast<Chebyshev *>(context)->smooth(in, out, zero_guess == PETSC_TRUE && sweep == 0);
    check(VecRestoreArray(x, &out), "smoother's output");
    check(VecRestoreArrayRead(b, &in), "smoother's input");
    *done = sweeps;
    *reason = PCRICHARDSON_CONVERGED_ITS;
  });
}

void set_smoother(KSP ksp, Mat matrix, Chebyshev &chebyshev) {
  check(KSPSetOperators(ksp, matrix, matrix), "smoother");
  check(KSPSetType(ksp, KSPRICHARDSON), "smoother");
  check(KSPSetNormType(ksp, KSP_NORM_NONE), "smoother");
  check(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 1), "smoother");
  PC pc = nullptr;
  check(KSPGetPC(ksp, &pc), "smoother");
  check(PCSetType(pc, PCSHELL), "smoother");
  check(PCShellSetContext(pc, &chebyshev), "smoother");
  check(PCShellSetApplyRichardson(pc, smooth), "smoother");
}

Map between(const GridLevel &to, const GridLevel &from,
            const std::function<void(const double *, double *)> &apply) {
  return {to.matrix.comm, to.matrix.rows, from.matrix.rows, apply, {}};
}

} // namespace

Multigrid::Multigrid(const std::vector<GridLevel> &levels, std::span<const Triplet> coarsest)
    : energy_(levels.front().matrix, phase_energy) {
  for (const GridLevel &level : levels)
    if (level.smoother < 1 || level.smoother > Chebyshev::largest_degree)
      throw Error("a smoother's degree is 1 to 4, not " + std::to_string(level.smoother));
  const Linear &finest = levels.front().matrix;
  check(PCCreate(finest.comm, pc_.put()), "multigrid");
  check(PCSetType(pc(), PCMG), "multigrid");
  check(PCSetOperators(pc(), matrix(), matrix()), "multigrid");
  check(PCMGSetLevels(pc(), static_cast<PetscInt>(levels.size()), nullptr), "multigrid");
  check(PCMGSetType(pc(), PC_MG_MULTIPLICATIVE), "multigrid");
  for (std::size_t i = 0; i + 1 < levels.size(); ++i)
    add(levels[i], levels[i + 1], static_cast<PetscInt>(levels.size() - 1 - i));
  set_coarsest(coarsest, levels.back().matrix.rows, finest.comm);
  check(PCSetUp(pc()), "multigrid");
}

Mat Multigrid::matrix() const { return energy_.mat(); }

void Multigrid::add(const GridLevel &fine, const GridLevel &coarse, PetscInt index) {
  auto grid = std::make_unique<Grid>(
      Grid{Shell(fine.matrix, phase_smoother), Shell(fine.matrix, phase_residual),
           Shell(between(fine, coarse, fine.interpolate)), Shell(between(coarse, fine, fine.restrict_to)),
           Chebyshev(fine.matrix, fine.smoother)});
  KSP ksp = nullptr;
  check(PCMGGetSmoother(pc(), index, &ksp), "smoother");
  set_smoother(ksp, grid->smoothing.mat(), grid->smoother);
  check(PCMGSetInterpolation(pc(), index, grid->interpolation.mat()), "interpolation");
  check(PCMGSetRestriction(pc(), index, grid->restriction.mat()), "restriction");
  check(PCMGSetResidual(pc(), index, PCMGResidualDefault, grid->residual.mat()), "residual");
  grids_.push_back(std::move(grid));
}

void Multigrid::set_coarsest(std::span<const Triplet> entries, std::size_t rows, MPI_Comm comm) {
  coarsest_ = assembled(comm, rows, entries);
  KSP ksp = nullptr;
  PC pc = nullptr;
  check(PCMGGetCoarseSolve(pc_.get(), &ksp), "coarsest level");
  check(KSPSetOperators(ksp, coarsest_.get(), coarsest_.get()), "coarsest level");
  check(KSPSetType(ksp, KSPPREONLY), "coarsest level");
  check(KSPGetPC(ksp, &pc), "coarsest level");
  check(PCSetType(pc, PCGAMG), "coarsest level");
}

Grids::Grids(Forest finest, int degree, Coefficient coefficient, const OperatorSettings &settings,
             const HierarchySettings &hierarchy)
    : coefficient_(std::move(coefficient)), hierarchy_(std::move(finest), degree, hierarchy) {
  std::vector<Level> &levels = hierarchy_.levels();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    OperatorSettings own = settings;
    own.overlap.phases = phase_count;
    if (i > 0) own.history = nullptr; // the finest's alone
    if (own.overlap.region && i > 0) {
      regions_.push_back(
          std::make_unique<std::string>(std::string(own.overlap.region) + "-level-" + std::to_string(i)));
      own.overlap.region = regions_.back()->c_str();
    }
    lay_out(levels[i].forest, levels[i].nodes);
    operators_.emplace_back(levels[i].forest, levels[i].nodes, coefficient_, own);
  }
}

Linear Grids::linear(std::size_t level) {
  Operator &made = operators_.at(level);
  const Nodes &nodes = hierarchy_.levels().at(level).nodes;
  return {nodes.communicator(), nodes.owned(),
          [&made](const double *x, double *y, int phase) { made.apply(x, y, phase); },
          [&made](double *diagonal) { made.diagonal(diagonal); }, made.messages()};
}

std::unique_ptr<Multigrid> Grids::multigrid(int smoother_degree) {
  const std::vector<Level> &levels = hierarchy_.levels();
  transfers_.clear();
  for (std::size_t i = 0; i + 1 < levels.size(); ++i)
    transfers_.emplace_back(levels[i], levels[i + 1], operators_[i].masked(), operators_[i + 1].masked());
  std::vector<GridLevel> grids;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const int own = smoother_of(levels[i].nodes.degree());
    grids.push_back({linear(i), smoother_degree == 0 ? own : smoother_degree, {}, {}});
    if (i == transfers_.size()) break;
    Transfer &transfer = transfers_[i];
    grids[i].interpolate = [&transfer](const double *coarse, double *fine) {
      transfer.interpolate(coarse, fine);
    };
    grids[i].restrict_to = [&transfer](const double *fine, double *coarse) {
      transfer.restrict(fine, coarse);
    };
  }
  const Level &coarsest = levels.back();
  return std::make_unique<Multigrid>(grids, assemble(coarsest.forest, coarsest.nodes, coefficient_));
}

} // namespace haloscope::fem
