#include "kernels/cells.hpp"

namespace haloscope::fem {

std::vector<std::int32_t> layout(const Cells &cells, std::span<const char> mirror, std::size_t owned) {
  std::vector<std::int32_t> elements;
  for (std::size_t element = 0; element < cells.elements(); ++element)
    if (mirror.empty() || mirror[element] == 0) elements.push_back(static_cast<std::int32_t>(element));
  return layout(cells, elements, owned);
}

// Nodes in the order in which the elements touch them.
std::vector<std::int32_t> layout(const Cells &cells, std::span<const std::int32_t> elements,
                                 std::size_t owned) {
  std::vector<std::int32_t> new_of_old(owned, -1);
  std::int32_t next = 0;
  const std::size_t count = cells.element_nodes();
  for (const std::int32_t element : elements)
    for (const std::int32_t node : cells.nodes.subspan(static_cast<std::size_t>(element) * count, count))
      if (const auto at = static_cast<std::size_t>(node); at < owned && new_of_old[at] < 0)
        new_of_old[at] = next++;
  for (std::int32_t &number : new_of_old)
    if (number < 0) number = next++;
  return new_of_old;
}

} // namespace haloscope::fem
