// deal.II's matrix-free operator of -Δu on a cube with Dirichlet conditions: FEEvaluation with gradients, a
// constant coefficient, MappingQ1, all with 129³ points. Cases: q1 q2 q4, deformed-q1 deformed-q4.
#include <deal.II/base/mpi.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/matrix_free/fe_evaluation.h>
#include <deal.II/matrix_free/matrix_free.h>
#include <deal.II/numerics/vector_tools.h>

#include "turns.hpp"

#include <cmath>
#include <memory>

namespace {

constexpr int dimension = 3;
using Vector = dealii::LinearAlgebra::distributed::Vector<double>;
using Point = dealii::Point<dimension>;

// Elements that are neither cubes nor parallelepipeds.
Point deformed(const Point &at) {
  constexpr double pi = dealii::numbers::PI, most = 0.05;
  const double bump = most * std::sin(pi * at[0]) * std::sin(pi * at[1]) * std::sin(pi * at[2]);
  return Point(at[0] + bump, at[1] - bump, at[2] + bump * at[0]);
}

template <int degree> class Laplace {
public:
  Laplace(unsigned int level, bool is_deformed)
      : mesh_(MPI_COMM_WORLD), element_(degree), unknowns_(mesh_), mapping_(1) {
    dealii::GridGenerator::hyper_cube(mesh_);
    mesh_.refine_global(level);
    if (is_deformed) dealii::GridTools::transform(&deformed, mesh_);
    unknowns_.distribute_dofs(element_);
    dealii::IndexSet relevant;
    dealii::DoFTools::extract_locally_relevant_dofs(unknowns_, relevant);
    constraints_.reinit(relevant);
    dealii::VectorTools::interpolate_boundary_values(
        mapping_, unknowns_, 0, dealii::Functions::ZeroFunction<dimension>(), constraints_);
    constraints_.close();
    typename dealii::MatrixFree<dimension, double>::AdditionalData choices;
    choices.tasks_parallel_scheme = dealii::MatrixFree<dimension, double>::AdditionalData::none;
    choices.mapping_update_flags = dealii::update_gradients | dealii::update_JxW_values;
    data_.reinit(mapping_, unknowns_, constraints_, dealii::QGauss<1>(degree + 1), choices);
    data_.initialize_dof_vector(x_);
    data_.initialize_dof_vector(y_);
    for (std::size_t i = 0; i < x_.locally_owned_size(); i++)
      x_.local_element(i) = static_cast<double>(i % 17) / 17;
    constraints_.set_zero(x_);
  }

  void operator()() {
    data_.cell_loop(&Laplace::work, this, y_, x_, true);
    for (const unsigned int i : data_.get_constrained_dofs()) y_.local_element(i) = x_.local_element(i);
  }

  [[nodiscard]] dealii::types::global_dof_index unknowns() const { return unknowns_.n_dofs(); }

private:
  void work(const dealii::MatrixFree<dimension, double> &data, Vector &to, const Vector &from,
            const std::pair<unsigned int, unsigned int> &cells) const {
    dealii::FEEvaluation<dimension, degree, degree + 1, 1, double> values(data);
    for (unsigned int cell = cells.first; cell < cells.second; cell++) {
      values.reinit(cell);
      values.gather_evaluate(from, dealii::EvaluationFlags::gradients);
      for (unsigned int q = 0; q < values.n_q_points; q++) values.submit_gradient(values.get_gradient(q), q);
      values.integrate_scatter(dealii::EvaluationFlags::gradients, to);
    }
  }

  dealii::parallel::distributed::Triangulation<dimension> mesh_;
  dealii::FE_Q<dimension> element_;
  dealii::DoFHandler<dimension> unknowns_;
  dealii::MappingQ<dimension> mapping_;
  dealii::AffineConstraints<double> constraints_;
  dealii::MatrixFree<dimension, double> data_;
  Vector x_, y_;
};

template <int degree> turns::Case laplace(unsigned int level, bool is_deformed = false) {
  const auto made = std::make_shared<Laplace<degree>>(level, is_deformed);
  return {[made] { (*made)(); }, static_cast<double>(made->unknowns())};
}

} // namespace

int main(int argc, char **argv) {
  const dealii::Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  const unsigned int level = argc > 1 ? static_cast<unsigned int>(std::atoi(argv[1])) : 7; // of Q1
  turns::serve({{"q1", laplace<1>(level)},
                {"q2", laplace<2>(level - 1)},
                {"q4", laplace<4>(level - 2)},
                {"deformed-q1", laplace<1>(level, true)},
                {"deformed-q4", laplace<4>(level - 2, true)}});
  return 0;
}
