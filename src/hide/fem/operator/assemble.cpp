#include "hide/fem/operator/assemble.hpp"

namespace haloscope::fem {

namespace {

// Cᵀ M C
std::vector<double> constrained(const std::vector<double> &matrix, const std::vector<double> &constraint,
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
    if (!constraint.empty()) matrix = constrained(matrix, constraint, size);
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

} // namespace haloscope::fem
