#include "fem/operator/load.hpp"

#include "fem/kernels/basis.hpp"
#include "fem/mesh/ghosts.hpp"
#include "fem/mesh/hanging.hpp"
#include "fem/operator/plain_quadrature.hpp"

#include <algorithm>

namespace haloscope::fem {

namespace {

constexpr std::size_t lanes = 8; // elements at a time: a number of each is in a vector

// Direction after direction, a matrix or its transpose on lattices of n³ points.
void multiply(const kernels::Matrix &matrix, bool transposed, std::vector<double> &values,
              std::vector<double> &scratch) {
  const auto n = static_cast<std::size_t>(matrix.size);
  for (std::size_t stride = 1; stride < n * n * n; stride *= n) {
    for (std::size_t point = 0; point < n * n * n; point++) {
      const std::size_t row = point / stride % n;
      const double *in = values.data() + (point - row * stride) * lanes;
      double *out = scratch.data() + point * lanes;
      std::fill_n(out, lanes, 0.0);
      for (std::size_t column = 0; column < n; column++, in += stride * lanes) {
        const int i = static_cast<int>(row), j = static_cast<int>(column);
        const double factor = transposed ? matrix(j, i) : matrix(i, j);
        for (std::size_t lane = 0; lane < lanes; lane++) out[lane] += factor * in[lane];
      }
    }
    values.swap(scratch);
  }
}

// ∫ f φ in one element after the other, for f by its values at the nodes. An Operator of Part::mass would do
// the same, but for one product it takes too long to be made.
class Mass {
public:
  Mass(const Forest &forest, const Nodes &nodes)
      : forest_(forest), nodes_(nodes), basis_(nodes.degree()), constraint_(nodes.degree()),
        geometry_(forest, nodes), values_(nodes.per_element() * lanes), scratch_(values_.size()),
        one_(nodes.per_element()) {}

  // Adds the contributions to f of a batch of elements that begins at `first`.
  void add(std::size_t first, const std::vector<double> &f, std::vector<double> &result) {
    const std::size_t count = std::min(lanes, forest_.elements() - first), size = one_.size();
    const auto own = nodes_.element_nodes().subspan(first * size, count * size);
    std::ranges::fill(values_, 0.0);
    for (std::size_t lane = 0; lane < count; lane++)
      for (std::size_t a = 0; a < size; a++)
        values_[a * lanes + lane] = f[static_cast<std::size_t>(own[lane * size + a])];
    constrain(first, count, false);
    multiply(basis_.interpolate, false, values_, scratch_);
    for (std::size_t lane = 0; lane < count; lane++) scale(first + lane, lane);
    multiply(basis_.interpolate, true, values_, scratch_);
    constrain(first, count, true);
    for (std::size_t lane = 0; lane < count; lane++)
      for (std::size_t a = 0; a < size; a++)
        result[static_cast<std::size_t>(own[lane * size + a])] += values_[a * lanes + lane];
  }

private:
  void constrain(std::size_t first, std::size_t count, bool transposed) {
    for (std::size_t lane = 0; lane < count; lane++) {
      const std::uint16_t code = nodes_.faces()[first + lane];
      if (code == 0) continue;
      for (std::size_t a = 0; a < one_.size(); a++) one_[a] = values_[a * lanes + lane];
      transposed ? constraint_.transpose(code, one_) : constraint_.apply(code, one_);
      for (std::size_t a = 0; a < one_.size(); a++) values_[a * lanes + lane] = one_[a];
    }
  }

  // Multiplies by the quadrature's weights and the volume at its points.
  void scale(std::size_t element, std::size_t lane) {
    double *value = values_.data() + lane;
    const std::vector<double> &points = basis_.points, &weights = basis_.weights;
    for (std::size_t z = 0; z < points.size(); z++)
      for (std::size_t y = 0; y < points.size(); y++)
        for (std::size_t x = 0; x < points.size(); x++, value += lanes) {
          *value *= weights[x] * weights[y] * weights[z] *
                    geometry_.volume(element, {points[x], points[y], points[z]});
        }
  }

  const Forest &forest_;
  const Nodes &nodes_;
  kernels::Basis basis_;
  Constraint constraint_;
  Geometry geometry_;
  std::vector<double> values_, scratch_, one_;
};

} // namespace

std::vector<double> right_hand_side(const Forest &forest, const Nodes &nodes, const Function &f,
                                    bool dirichlet) {
  const std::vector<Point> points = nodes.points(forest);
  std::vector<double> values(points.size()), result(points.size());
  std::ranges::transform(points, values.begin(), f);
  Mass mass(forest, nodes);
  for (std::size_t first = 0; first < forest.elements(); first += lanes) mass.add(first, values, result);
  Ghosts(nodes.communicator(), nodes.links()).reverse(result.data());
  result.resize(nodes.owned());
  if (!dirichlet) return result;
  const std::vector<std::uint8_t> boundary = nodes.boundary(forest);
  for (std::size_t node = 0; node < result.size(); node++)
    if (boundary[node] != 0) result[node] = 0;
  return result;
}

} // namespace haloscope::fem
