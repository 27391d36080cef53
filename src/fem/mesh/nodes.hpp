// Continuous nodes of degree k on a forest: Gauss-Lobatto points of each element, shared where they meet.
#pragma once

#include "fem/mesh/forest.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace haloscope::fem {

// The nodes that ranks exchange. Both ranks of a pair have the same nodes in the same order.
struct Links {
  struct Neighbour {
    int rank;
    std::vector<std::int32_t> send;    // owned nodes that it has as ghosts
    std::vector<std::int32_t> receive; // ghosts that it owns; local numbers, at least owned()
  };
  std::vector<Neighbour> neighbours; // by rank
};

class Nodes {
public:
  // Collective. Error on all ranks: degree not in 1…8, forest not balanced, an element inverted.
  Nodes(const Forest &forest, int degree);

  [[nodiscard]] int degree() const noexcept { return degree_; }
  [[nodiscard]] std::size_t per_element() const noexcept;
  [[nodiscard]] std::size_t owned() const noexcept { return owned_; }
  [[nodiscard]] std::size_t ghosts() const noexcept { return ghosts_.size(); }
  [[nodiscard]] std::size_t local() const noexcept { return owned_ + ghosts_.size(); }
  [[nodiscard]] std::int64_t first() const noexcept { return first_; } // global number of my first
  [[nodiscard]] std::int64_t all() const noexcept { return all_; }
  [[nodiscard]] std::int64_t global(std::int32_t node) const noexcept; // of a local one

  // elements × (k+1)^3, x fastest; below owned() mine, else ghosts. On hanging faces and edges the
  // nodes are those of the large face or edge, in its order: see hanging.hpp.
  [[nodiscard]] std::span<const std::int32_t> element_nodes() const noexcept { return element_nodes_; }
  [[nodiscard]] std::span<const std::uint16_t> faces() const noexcept {
    return faces_;
  } // codes; 0: nothing hangs
  [[nodiscard]] const Links &links() const noexcept { return links_; }
  [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; } // the forest's

  // For each local node: whether it is on the domain's boundary.
  [[nodiscard]] std::vector<std::uint8_t> boundary(const Forest &forest) const;
  // For each element: whether it touches a node that another rank touches, too, whoever owns it.
  [[nodiscard]] std::vector<char> mirror() const;
  // Returns the positions of local nodes.
  [[nodiscard]] std::vector<Point> points(const Forest &forest) const;
  // elements × 8 × xyz, x fastest; hanging corners stand on the large face or edge: no gaps.
  [[nodiscard]] std::vector<double> corners(const Forest &forest) const;

  // Collective. Permutes the owned nodes, and informs the neighbours.
  void renumber(std::span<const std::int32_t> new_of_old);

private:
  void check(const Forest &forest) const; // no element is inverted

  int degree_;
  MPI_Comm communicator_;
  std::size_t owned_ = 0;
  std::int64_t first_ = 0, all_ = 0;
  std::vector<std::int64_t> ghosts_; // their global numbers
  std::vector<std::int32_t> element_nodes_;
  std::vector<std::uint16_t> faces_;
  Links links_;
};

} // namespace haloscope::fem
