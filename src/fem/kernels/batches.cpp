#include "fem/kernels/batches.hpp"

#include <algorithm>

namespace haloscope::fem::kernels {
namespace {

std::size_t at(std::size_t element, std::size_t each) { return element * each; }

void add_geometry(Batches &batches, const Cells &cells, std::size_t element) {
  const auto count = static_cast<std::size_t>(batches.numbers);
  for (std::size_t i = 0; i < count; ++i) {
    double value = 1;
    if (count == 1)
      value = cells.sizes[element];
    else if (!cells.corners.empty())
      value = cells.corners[at(element, count) + i];
    else
      value = ((i / 3) >> (i % 3) & 1) != 0 ? cells.sizes[element] : 0; // a cube's vertices
    batches.geometry.push_back(value);
  }
}

// From element by element to lane by lane, where a batch begins.
template <typename Value> void interleave(std::vector<Value> &values, std::size_t begin) {
  const std::vector<Value> old(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end());
  const std::size_t each = old.size() / lanes;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    for (std::size_t i = 0; i < each; ++i) values[begin + i * lanes + lane] = old[lane * each + i];
}

} // namespace

Kernel kernel_of(int degree, Shape shape) {
  static constexpr std::array kernels{kernel<1>, kernel<2>, kernel<3>, kernel<4>,
                                      kernel<5>, kernel<6>, kernel<7>, kernel<8>};
  return kernels.at(static_cast<std::size_t>(degree - 1))(shape);
}

Shape shape_of(const Cells &cells, const Choices &choices) {
  if (choices.part != Part::stiffness) return Shape::lower_order;
  if (!cells.cubes) return Shape::trilinear;
  return cells.pointwise() ? Shape::cube : Shape::modal;
}

Batches no_batches(const Cells &cells, const Choices &choices) {
  Batches batches;
  batches.choices = choices;
  batches.degree = cells.degree;
  batches.pointwise = cells.pointwise();
  batches.numbers = kernel_of(cells.degree, shape_of(cells, choices)).numbers;
  return batches;
}

void add_batch(Batches &batches, const Cells &cells, std::span<const std::uint8_t> masked,
               std::span<const std::int32_t> elements) {
  const std::size_t count = cells.element_nodes(), values = batches.pointwise ? count : 1;
  const std::size_t nodes = batches.nodes.size(), coefficient = batches.coefficient.size(),
                    geometry = batches.geometry.size();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const bool present = lane < elements.size();
    const auto element = static_cast<std::size_t>(elements[present ? lane : 0]);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t node = cells.nodes[at(element, count) + i];
      const bool read = present && (masked.empty() || masked[static_cast<std::size_t>(node)] == 0);
      batches.nodes.push_back(read ? node : -1);
    }
    for (std::size_t i = 0; i < values; ++i)
      batches.coefficient.push_back(present ? cells.coefficient[at(element, values) + i] : 0);
    add_geometry(batches, cells, element);
    batches.elements.push_back(present ? elements[lane] : -1);
  }
  interleave(batches.nodes, nodes);
  interleave(batches.coefficient, coefficient);
  interleave(batches.geometry, geometry);
  const auto first = static_cast<std::size_t>(elements[0]);
  batches.codes.push_back(cells.faces.empty() ? 0 : cells.faces[first]);
  const auto begin = batches.nodes.begin() + static_cast<std::ptrdiff_t>(nodes);
  batches.whole.push_back(std::all_of(begin, batches.nodes.end(), [](auto node) { return node >= 0; }));
}

} // namespace haloscope::fem::kernels
