#include "avoiding.hpp"

#include "../common/mpi.hpp"
#include "stencil.hpp"

#include <haloscope/region.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cg {

namespace {

// A dense matrix of a few rows, symmetric and positive definite unless rounding makes it singular.
struct Small {
  std::size_t rows, columns;
  std::vector<double> values;

  Small(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c, 0.0) {}
  double &at(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

// Solves matrix · X = right by Cholesky. Returns false if the matrix is not positive definite.
bool solve_small(Small matrix, Small &right) {
  const std::size_t n = matrix.rows;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k)
      for (std::size_t i = j; i < n; ++i) matrix.at(i, j) -= matrix.at(i, k) * matrix.at(j, k);
    if (!(matrix.at(j, j) > 0)) return false;
    const double root = std::sqrt(matrix.at(j, j));
    for (std::size_t i = j; i < n; ++i) matrix.at(i, j) /= root;
  }
  for (std::size_t c = 0; c < right.columns; ++c) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) right.at(i, c) -= matrix.at(i, k) * right.at(k, c);
      right.at(i, c) /= matrix.at(i, i);
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t k = i + 1; k < n; ++k) right.at(i, c) -= matrix.at(k, i) * right.at(k, c);
      right.at(i, c) /= matrix.at(i, i);
    }
  }
  return true;
}

struct System {
  Halo &halo;
  Multigrid *preconditioner;

  void multiply(Field &x, Field &y) const {
    halo.exchange(x);
    apply_operator(x, y);
  }
  void precondition(const Field &r, Field &z) const {
    if (preconditioner != nullptr)
      preconditioner->apply(r, z);
    else
      z = r;
  }
  // r = b − A x, with `product` as space.
  Field residual(const Field &b, Field &x, Field &product) const {
    Field r = b;
    multiply(x, product);
    add_scaled(-1.0, product, r);
    return r;
  }
};

std::vector<Field> fields(std::size_t count, Shape shape) { return std::vector<Field>(count, Field(shape)); }

} // namespace

Outcome solve_pipelined(const Field &b, Field &x, Halo &halo, Multigrid *preconditioner, Stop stop,
                        const Observer &observe) {
  const haloscope::Region region{"cg"};
  const System system{halo, preconditioner};
  const Shape shape = b.shape();
  Field product(shape), r = system.residual(b, x, product), u(shape), w(shape), m(shape), n(shape);
  Field z(shape), q(shape), s(shape), p(shape);
  system.precondition(r, u);
  system.multiply(u, w);
  Outcome outcome{0, 1};
  double first = 0, gamma_before = 0, alpha = 0;
  for (int iteration = 0;; ++iteration) {
    double local[3], sums[3];
    MPI_Request request;
    {
      const haloscope::CommRegion products{"dot_product"};
      local[0] = local_dot(r, u);
      local[1] = local_dot(w, u);
      local[2] = local_dot(r, r);
      MPI_Iallreduce(local, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    }
    const bool last = iteration == stop.iterations; // only the residual's norm is missing
    if (!last) {
      system.precondition(w, m);
      system.multiply(m, n);
    }
    {
      const haloscope::CommRegion products{"dot_product"};
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (iteration == 0) first = std::sqrt(sums[2]);
    outcome.residual = first > 0 ? std::sqrt(sums[2]) / first : 0;
    if (iteration > 0) observe(outcome.iterations = iteration, outcome.residual, x);
    if (last || outcome.residual <= stop.tolerance) break;
    const double beta = iteration > 0 ? sums[0] / gamma_before : 0;
    const double curvature = iteration > 0 ? sums[1] - beta * sums[0] / alpha : sums[1];
    if (!(curvature > 0)) break;
    alpha = sums[0] / curvature;
    gamma_before = sums[0];
    scale_then_add(beta, n, z);
    scale_then_add(beta, m, q);
    scale_then_add(beta, w, s);
    scale_then_add(beta, u, p);
    add_scaled(alpha, p, x);
    add_scaled(-alpha, s, r);
    add_scaled(-alpha, q, u);
    add_scaled(-alpha, z, w);
  }
  return outcome;
}

Outcome solve_s_step(const Field &b, Field &x, Halo &halo, Multigrid *preconditioner, int steps, Stop stop,
                     const Observer &observe) {
  const haloscope::Region region{"cg"};
  const System system{halo, preconditioner};
  const auto count = static_cast<std::size_t>(steps);
  Field product(b.shape()), r = system.residual(b, x, product);
  auto basis = fields(count, b.shape()), images = basis, directions = basis, products = basis;
  Small before(count, count);
  Outcome outcome{0, 1};
  double first = 0;
  for (int block = 0;; ++block) {
    const bool last = outcome.iterations >= stop.iterations;
    for (std::size_t j = 0; j < count && !last; ++j) {
      system.precondition(j == 0 ? r : images[j - 1], basis[j]);
      system.multiply(basis[j], images[j]);
    }
    // In one reduction: basis · A basis, the old directions' products · basis, basis · r, and r · r.
    std::vector<double> sums;
    Small matrix(count, count), coupling(count, count), step(count, 1);
    {
      const haloscope::CommRegion reduction{"dot_product"};
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < count; ++j) sums.push_back(local_dot(basis[i], images[j]));
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < count; ++j) sums.push_back(local_dot(products[i], basis[j]));
      for (std::size_t i = 0; i < count; ++i) sums.push_back(local_dot(basis[i], r));
      sums.push_back(local_dot(r, r));
      MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                    MPI_COMM_WORLD);
    }
    const auto part = sums.begin() + static_cast<std::ptrdiff_t>(count * count);
    std::copy(sums.begin(), part, matrix.values.begin());
    std::copy(part, part + static_cast<std::ptrdiff_t>(count * count), coupling.values.begin());
    std::copy(sums.end() - 1 - steps, sums.end() - 1, step.values.begin());
    if (block == 0) first = std::sqrt(sums.back());
    outcome.residual = first > 0 ? std::sqrt(sums.back()) / first : 0;
    if (block > 0) observe(outcome.iterations, outcome.residual, x);
    if (last || outcome.residual <= stop.tolerance) break;
    if (block > 0) { // directions = basis − directions · W⁻¹ coupling, conjugate to the old ones
      Small old = coupling;
      if (!solve_small(before, old)) break;
      auto new_directions = basis, new_products = images;
      for (std::size_t j = 0; j < count; ++j)
        for (std::size_t i = 0; i < count; ++i) {
          add_scaled(-old.at(i, j), directions[i], new_directions[j]);
          add_scaled(-old.at(i, j), products[i], new_products[j]);
          for (std::size_t k = 0; k < count; ++k) matrix.at(k, j) -= coupling.at(i, k) * old.at(i, j);
        }
      std::swap(directions, new_directions);
      std::swap(products, new_products);
    } else {
      directions = basis;
      products = images;
    }
    before = matrix;
    if (!solve_small(matrix, step)) break;
    for (std::size_t j = 0; j < count; ++j) {
      add_scaled(step.at(j, 0), directions[j], x);
      add_scaled(-step.at(j, 0), products[j], r);
    }
    outcome.iterations += steps;
  }
  return outcome;
}

} // namespace cg
