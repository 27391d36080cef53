// The elements of a coarse level with the fine nodes in them, eight at a time: one in each lane of a vector.
// Also the assignment of fine nodes to the coarse elements of all ranks.
#pragma once

#include "fem/mesh/hanging.hpp"
#include "fem/mesh/hierarchy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem {

// A fine value that is computed here: where in the patch's lattice, and of which fine node.
struct Target {
  std::uint16_t place;
  std::int32_t node;
};

// One coarse element.
struct Patch {
  bool refined;       // into 8; else it is on both levels
  std::uint16_t code; // its hanging faces on the coarse level
  std::span<const std::int32_t> nodes;
  std::vector<Target> targets;
};

class Patches {
public:
  // Degrees are the same, and elements may be refined; or fine is 2 coarse or one less, on the same mesh.
  Patches(int coarse, int fine);
  void add(const std::vector<Patch> &patches);

  // Fine node i is at below[i] if i < count, else at above[i − count].
  struct Fine {
    double *below;
    double *above;
    std::int32_t count;
  };
  struct ConstantFine {
    const double *below;
    const double *above;
    std::int32_t count;
  };
  void interpolate(const double *coarse, const Fine &fine);
  void restrict(const ConstantFine &fine, double *coarse); // adds

private:
  static constexpr std::size_t lanes = 8;
  struct Batch {
    bool refined;
    std::array<std::uint16_t, lanes> codes;
    std::size_t nodes;      // first of (k+1)^3 × lanes
    std::size_t first, end; // targets
  };
  void add_batch(std::span<const Patch *const> patches);
  void constrain(const Batch &batch, bool transposed);
  [[nodiscard]] bool expands(const Batch &batch) const noexcept { return batch.refined || raises_degree_; }

  int degree_; // of the coarse level
  bool raises_degree_;
  std::size_t points_; // of an expanded element, in one direction
  std::size_t per_element_;
  Constraint constraint_;
  std::vector<double> expand_, reduce_; // points × (k+1), and its transpose
  std::vector<Batch> batches_;
  std::vector<std::int32_t> nodes_;
  std::vector<std::uint16_t> slots_; // place × lanes + lane
  std::vector<std::int32_t> targets_;
  std::vector<double> coarse_, fine_, scratch_; // of one batch
};

// The first element of the node's owner in which the node is on no hanging side. If there is none, the owner
// asks the first neighbour that has such an element: the node is rescued.
struct Holders {
  std::vector<std::int32_t>
      of;        // local fine nodes: an element of this rank's, or −1; a ghost's if its owner asks
  Links rescued; // `send`: owned nodes that I ask for; `receive`: ghosts that I compute
};

// Both are collective.
[[nodiscard]] Holders find_holders(const Level &fine, const Level &coarse);
// Returns a patch for each coarse element. Targets that are ghosts are counted from owned() on in the order
// of `rescued`.
[[nodiscard]] std::vector<Patch> patches(const Level &fine, const Level &coarse, const Holders &holders,
                                         std::span<const std::uint8_t> fine_masked);

} // namespace haloscope::fem
