#include "hide/fem/kernels/bricks.hpp"
#include "hide/fem/kernels/lattice.hpp"
#include "hide/fem/kernels/schedule.hpp"

namespace haloscope::fem::kernels {
namespace {

// Builds one item of Rows.
class Builder {
public:
  Builder(Rows &rows, const Mesh &mesh, std::span<const std::int32_t> firsts) : rows_(rows), mesh_(mesh) {
    for (const std::int32_t first : firsts) lattices_.emplace_back(mesh.cells, first, rows.edge);
  }

  void build(Writes &writes) {
    for (int row = 0; row < rows_.rows(); ++row) add_row(row, writes);
    for (std::size_t i = begin_; i < rows_.entries.size(); ++i) writes.adds(rows_.entries[i].node);
    rows_.begins.push_back(static_cast<std::uint32_t>(rows_.entries.size()));
    rows_.regular.push_back(regular_ ? 1 : 0);
  }

private:
  using Place = Lattice::Place;

  // Nothing where there are fewer bricks than fit.
  const Place *place(int brick, int row, int x) const {
    const auto which = static_cast<std::size_t>(brick);
    const int size = rows_.edge + 1;
    return which < lattices_.size() ? &lattices_[which].at(x, row % size, row / size) : nullptr;
  }
  bool present(const Place *place) const {
    return place != nullptr && place->node >= 0 && mesh_.reads(place->node);
  }

  // The node that x = 1 would have if the others followed it: that of the first node that is there.
  std::int32_t base(int brick, int row) const {
    for (int x = 1; x <= rows_.edge; ++x) {
      const Place *at = place(brick, row, x);
      if (!present(at)) continue;
      const std::int32_t base = at->node - (x - 1);
      return base >= 0 && std::ptrdiff_t{base} + rows_.edge <= static_cast<std::ptrdiff_t>(mesh_.nodes) ? base
                                                                                                        : -1;
    }
    return -1;
  }

  void enter(const Place *place, int position) {
    regular_ = false;
    if (place == nullptr) return;
    if (present(place)) rows_.entries.push_back({place->node, position, 1});
    if (place->node >= 0) return;
    for (const std::int32_t parent : place->parents)
      if (mesh_.reads(parent))
        rows_.entries.push_back({parent, position, 1 / static_cast<double>(place->parents.size())});
  }

  void add_row(int row, Writes &writes) {
    std::vector<std::int32_t> written;
    unsigned direct = 0;
    for (int brick = 0; brick < rows_.bricks(); ++brick) {
      const std::int32_t base = this->base(brick, row);
      rows_.bases.push_back(base < 0 ? 0 : base);
      for (int x = 1; x <= rows_.edge; ++x) {
        const int lane = brick * rows_.edge + x - 1;
        const Place *at = place(brick, row, x);
        if (base >= 0 && present(at) && at->node == base + x - 1) {
          direct |= 1U << static_cast<unsigned>(lane);
          written.push_back(at->node);
        } else {
          enter(at, row * lanes + lane);
        }
      }
    }
    const bool whole = written.size() == lanes;
    const bool stores = whole && writes.stores(written);
    if (!whole)
      for (const std::int32_t node : written) writes.adds(node);
    rows_.direct.push_back(static_cast<std::uint8_t>(direct));
    rows_.stores.push_back(stores ? 1 : 0);
    for (int brick = 0; brick < rows_.bricks(); ++brick) add_start(brick, row, writes);
  }

  void add_start(int brick, int row, Writes &writes) {
    const Place *at = place(brick, row, 0);
    rows_.starts.push_back(present(at) ? at->node : -1);
    if (present(at))
      writes.adds(at->node);
    else
      enter(at, rows_.rows() * lanes + row * rows_.bricks() + brick);
  }

  Rows &rows_;
  const Mesh &mesh_;
  std::vector<Lattice> lattices_;
  std::size_t begin_ = rows_.entries.size();
  bool regular_ = true;
};

} // namespace

void Rows::add(const Mesh &mesh, std::span<const std::int32_t> firsts, Writes &writes) {
  if (begins.empty()) begins.push_back(0);
  const std::size_t item = regular.size(), each = static_cast<std::size_t>(edge * edge) * lanes;
  Builder(*this, mesh, firsts).build(writes);
  scale.resize((item + 1) * each, 0);
  for (std::size_t brick = 0; brick < firsts.size(); ++brick)
    for (unsigned morton = 0; morton < static_cast<unsigned>(edge * edge * edge); ++morton) {
      const int row = place_along(2, morton) * edge + place_along(1, morton);
      const std::size_t lane =
          brick * static_cast<std::size_t>(edge) + static_cast<std::size_t>(place_along(0, morton));
      scale[item * each + static_cast<std::size_t>(row) * lanes + lane] =
          scale_of(mesh.cells, firsts[brick] + static_cast<std::int32_t>(morton));
    }
}

} // namespace haloscope::fem::kernels
