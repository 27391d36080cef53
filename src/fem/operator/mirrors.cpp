#include "fem/operator/mirrors.hpp"

#include <numeric>

namespace haloscope::fem {

namespace {

constexpr std::int32_t nowhere = -1;

// The parts of `all` that belong to some elements, in their order; empty if there are none at all.
template <class Value>
std::vector<Value> part_of(std::span<const Value> all, std::span<const std::int32_t> elements,
                           std::size_t count) {
  std::vector<Value> part;
  const std::size_t each = count == 0 ? 0 : all.size() / count;
  part.reserve(each * elements.size());
  for (const std::int32_t element : elements) {
    const auto own = all.subspan(each * static_cast<std::size_t>(element), each);
    part.insert(part.end(), own.begin(), own.end());
  }
  return part;
}

} // namespace

Mirrors::Mirrors(const Cells &all, std::span<const char> mirror, std::span<const std::int32_t> known,
                 std::size_t owned, std::span<const std::uint8_t> masked, const Choices &choices) {
  for (std::size_t element = 0; element < mirror.size(); element++)
    if (mirror[element] != 0) elements_.push_back(static_cast<std::int32_t>(element));
  number(all, known, owned, masked.size());
  copy(all);
  std::iota(elements_.begin(), elements_.end(), 0);

  // Regular blocks among them have contiguous nodes, too.
  const std::vector<std::int32_t> moved = layout(cells(all), elements_, x.size());
  for (std::int32_t &place : places_)
    if (place != nowhere) place = moved[static_cast<std::size_t>(place)];
  for (std::int32_t &place : element_nodes_) place = moved[static_cast<std::size_t>(place)];

  std::vector<std::uint8_t> hidden(x.size());
  for (std::size_t node = 0; node < masked.size(); node++)
    if (places_[node] != nowhere) hidden[place(static_cast<std::int32_t>(node))] = masked[node];
  Choices own = choices;
  own.first_rows = x.size();
  plan_ = std::make_unique<Plan>(cells(all), elements_, hidden, own);
}

// Owned nodes in their order, then all ghosts.
void Mirrors::number(const Cells &all, std::span<const std::int32_t> known, std::size_t owned,
                     std::size_t local) {
  places_.assign(local, nowhere);
  const auto take = [&](std::int32_t node) { places_[static_cast<std::size_t>(node)] = 0; };
  for (const std::int32_t node : known) take(node);
  const std::size_t each = all.element_nodes();
  for (const std::int32_t element : elements_)
    for (const std::int32_t node : all.nodes.subspan(each * static_cast<std::size_t>(element), each))
      take(node);
  std::int32_t count = 0;
  for (std::size_t node = 0; node < local; node++) {
    if (node < owned && places_[node] == nowhere) continue;
    if (node < owned) nodes_.push_back(static_cast<std::int32_t>(node));
    places_[node] = count++;
  }
  x.resize(static_cast<std::size_t>(count));
  y.resize(static_cast<std::size_t>(count));
}

void Mirrors::copy(const Cells &all) {
  const std::size_t count = all.elements();
  element_nodes_ = part_of(all.nodes, elements_, count);
  for (std::int32_t &node : element_nodes_) node = places_[static_cast<std::size_t>(node)];
  faces_ = part_of(all.faces, elements_, count);
  leaves_ = part_of(all.leaves, elements_, count);
  corners_ = part_of(all.corners, elements_, count);
  sizes_ = part_of(all.sizes, elements_, count);
  coefficient_ = part_of(all.coefficient, elements_, count);
}

Cells Mirrors::cells(const Cells &all) const {
  return {all.degree, all.cubes, element_nodes_, faces_, leaves_, corners_, sizes_, coefficient_};
}

} // namespace haloscope::fem
