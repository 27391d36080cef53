#include "hide/fem/kernels/cells.hpp"
#include "hide/fem/kernels/lattice.hpp"
#include "hide/fem/kernels/schedule.hpp"

namespace haloscope::fem {
namespace {

class Numbers {
public:
  explicit Numbers(std::size_t owned) : new_of_old_(owned, -1) {}
  void give(std::int32_t node) {
    const auto at = static_cast<std::size_t>(node);
    if (node >= 0 && at < new_of_old_.size() && new_of_old_[at] < 0) new_of_old_[at] = next_++;
  }
  std::vector<std::int32_t> all() {
    for (std::int32_t &number : new_of_old_)
      if (number < 0) number = next_++;
    return std::move(new_of_old_);
  }

private:
  std::vector<std::int32_t> new_of_old_;
  std::int32_t next_ = 0;
};

// Row by row without the lowest places, which the bricks before it own if they can; those come last.
void number(const kernels::Lattice &lattice, Numbers &numbers) {
  const auto rows = [&](bool lowest) {
    for (int z = 0; z < lattice.size; ++z)
      for (int y = 0; y < lattice.size; ++y)
        if ((y == 0 || z == 0) == lowest)
          for (int x = 1; x < lattice.size; ++x) numbers.give(lattice.at(x, y, z).node);
  };
  rows(false);
  rows(true);
  for (const auto &place : lattice.places) numbers.give(place.node);
}

} // namespace

std::vector<std::int32_t> layout(const Cells &cells, std::span<const char> mirror, std::size_t owned) {
  std::vector<std::int32_t> elements;
  for (std::size_t element = 0; element < cells.elements(); ++element)
    if (mirror.empty() || mirror[element] == 0) elements.push_back(static_cast<std::int32_t>(element));
  return layout(cells, elements, owned);
}

std::vector<std::int32_t> layout(const Cells &cells, std::span<const std::int32_t> elements,
                                 std::size_t owned) {
  Numbers numbers(owned);
  const std::size_t count = cells.element_nodes();
  for (const kernels::Work &item : kernels::schedule(cells, elements, {}))
    for (const std::int32_t first : item.firsts) {
      if (item.edge > 1)
        number(kernels::Lattice(cells, first, item.edge), numbers);
      else
        for (const std::int32_t node : cells.nodes.subspan(static_cast<std::size_t>(first) * count, count))
          numbers.give(node);
    }
  return numbers.all();
}

} // namespace haloscope::fem
