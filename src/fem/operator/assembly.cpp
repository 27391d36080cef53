#include "fem/operator/assembly.hpp"
#include "fem/mesh/ghosts.hpp"
#include "fem/operator/plain_quadrature.hpp"

#include <cmath>

namespace haloscope::fem {

namespace {

// Cᵀ M C
std::vector<double> apply_constraint(const std::vector<double> &matrix, const std::vector<double> &constraint,
                                     std::size_t size) {
  std::vector<double> half(size * size), whole(size * size);
  for (std::size_t i = 0; i < size; i++)
    for (std::size_t k = 0; k < size; k++)
      for (std::size_t j = 0; j < size; j++)
        half[i * size + j] += matrix[i * size + k] * constraint[k * size + j];
  for (std::size_t k = 0; k < size; k++)
    for (std::size_t i = 0; i < size; i++)
      for (std::size_t j = 0; j < size; j++)
        whole[i * size + j] += constraint[k * size + i] * half[k * size + j];
  return whole;
}

} // namespace

std::vector<Triplet> assemble(const Forest &forest, const Nodes &nodes, const Coefficient &coefficient,
                              Part part, bool dirichlet) {
  const Tabulated table(nodes.degree());
  const Geometry geometry(forest, nodes);
  const std::vector<double> kappa = sampled(coefficient, forest, geometry, nodes.degree());
  const std::vector<std::uint8_t> masked =
      dirichlet ? nodes.boundary(forest) : std::vector<std::uint8_t>(nodes.local());
  const std::size_t size = nodes.per_element();
  std::vector<Triplet> triplets;
  for (std::size_t element = 0; element < forest.elements(); element++) {
    const std::size_t each = kappa.size() / forest.elements();
    std::vector<double> matrix = element_matrix(table, geometry.corners(element),
                                                std::span(kappa).subspan(each * element, each), part);
    const std::vector<double> constraint = constraint_matrix(table, nodes.faces()[element]);
    if (!constraint.empty()) matrix = apply_constraint(matrix, constraint, size);
    const auto own = nodes.element_nodes().subspan(size * element, size);
    for (std::size_t a = 0; a < size; a++)
      for (std::size_t b = 0; b < size; b++) {
        const auto row = static_cast<std::size_t>(own[a]), column = static_cast<std::size_t>(own[b]);
        if (masked[row] != 0 || masked[column] != 0) continue;
        triplets.push_back({nodes.global(own[a]), nodes.global(own[b]), matrix[a * size + b]});
      }
  }
  for (std::size_t node = 0; node < nodes.owned(); node++)
    if (masked[node] != 0) {
      const std::int64_t number = nodes.global(static_cast<std::int32_t>(node));
      triplets.push_back({number, number, 1});
    }
  return triplets;
}

namespace {

// At each quadrature point of each element: the nodes' functions there, and the weight.
class Quadrature {
public:
  Quadrature(const Forest &forest, const Nodes &nodes, int points)
      : nodes_(&nodes), geometry_(forest, nodes), table_(nodes.degree(), points) {
    for (std::size_t q = 0; q < points_in(points); q++)
      for (std::size_t a = 0; a < nodes.per_element(); a++) shapes_.push_back(shape(table_, -1, q, a));
  }

  template <class AtPoint> void each(std::size_t element, AtPoint &&at_point) const {
    const std::size_t size = nodes_->per_element();
    for (std::size_t q = 0; q < shapes_.size() / size; q++) {
      const Point at = quadrature_point(table_, q);
      at_point(geometry_.point(element, at), quadrature_weight(table_, q) * geometry_.volume(element, at),
               shapes_.data() + q * size);
    }
  }

  // C v
  void constrain(std::size_t element, std::vector<double> &values) const {
    const std::vector<double> constraint = constraint_matrix(table_, nodes_->faces()[element]);
    if (constraint.empty()) return;
    const std::size_t size = values.size();
    std::vector<double> result(size);
    for (std::size_t i = 0; i < size; i++)
      for (std::size_t j = 0; j < size; j++) result[i] += constraint[i * size + j] * values[j];
    values = std::move(result);
  }

private:
  static std::size_t points_in(int n) {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(n * n);
  }

  const Nodes *nodes_;
  Geometry geometry_;
  Tabulated table_;
  std::vector<double> shapes_;
};

} // namespace

double error(const Forest &forest, const Nodes &nodes, const double *u, const Function &exact) {
  const Quadrature quadrature(forest, nodes, nodes.degree() + 2);
  const std::size_t size = nodes.per_element();
  std::vector<double> all(u, u + nodes.owned()), values(size);
  all.resize(nodes.local());
  Ghosts(nodes.communicator(), nodes.links()).forward(all.data());
  double sum = 0;
  for (std::size_t element = 0; element < forest.elements(); element++) {
    const auto own = nodes.element_nodes().subspan(size * element, size);
    for (std::size_t a = 0; a < size; a++) values[a] = all[static_cast<std::size_t>(own[a])];
    quadrature.constrain(element, values);
    quadrature.each(element, [&](const Point &point, double weight, const double *shapes) {
      double difference = -exact(point);
      for (std::size_t a = 0; a < size; a++) difference += values[a] * shapes[a];
      sum += weight * difference * difference;
    });
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, nodes.communicator());
  return std::sqrt(sum);
}

} // namespace haloscope::fem
