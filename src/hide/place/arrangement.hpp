// Which vertex of a graph each process gets, so that few edges join different nodes. Knows nothing of MPI;
// all processes compute the same.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace haloscope::place {

using Ranks = std::vector<int>;

// Vertices and those that each is joined to.
class Graph {
public:
  explicit Graph(std::size_t vertices) : joined_(vertices) {}
  void join(int from, int to); // both ways; an edge may be there several times, and counts so
  [[nodiscard]] std::size_t size() const noexcept { return joined_.size(); }
  [[nodiscard]] std::span<const int> of(int vertex) const noexcept {
    return joined_[static_cast<std::size_t>(vertex)];
  }

private:
  std::vector<Ranks> joined_;
};

Graph grid(std::span<const int> dims, std::span<const int> periods);

// Nodes of vertices, a candidate: equal boxes of a grid, of the fewest edges between them; nothing where a
// node's ranks are no such box. `ranks` are those of a node.
Ranks boxes(const Graph &graph, std::span<const int> dims, std::size_t ranks);

// Returns the vertex of each process, where `nodes` are the processes' nodes. It is the process's own number
// where nothing is better. `candidate`: nodes of vertices to begin with, perhaps nothing.
Ranks arranged(const Graph &graph, const Ranks &nodes, const Ranks &candidate);

} // namespace haloscope::place
