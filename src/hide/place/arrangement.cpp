#include "hide/place/arrangement.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace haloscope::place {

namespace {

constexpr int most_sweeps = 20;

std::size_t at(int index) noexcept { return static_cast<std::size_t>(index); }

// Edges between nodes, each counted from both its ends.
std::size_t cut(const Graph &graph, const Ranks &nodes) {
  std::size_t edges = 0;
  for (int vertex = 0; at(vertex) < graph.size(); vertex++)
    for (const int other : graph.of(vertex)) edges += nodes[at(vertex)] != nodes[at(other)];
  return edges;
}

int edges_to(const Graph &graph, int vertex, int node, const Ranks &nodes) {
  return static_cast<int>(
      std::ranges::count_if(graph.of(vertex), [&](int other) { return nodes[at(other)] == node; }));
}

// How many edges fewer join nodes when two vertices change places.
int gain(const Graph &graph, int one, int other, const Ranks &nodes) {
  const int here = nodes[at(one)];
  const int there = nodes[at(other)];
  const auto between = static_cast<int>(std::ranges::count(graph.of(one), other));
  return edges_to(graph, one, there, nodes) - edges_to(graph, one, here, nodes) +
         edges_to(graph, other, here, nodes) - edges_to(graph, other, there, nodes) - 2 * between;
}

// Lets vertices change places as long as that helps.
void refine(const Graph &graph, Ranks &nodes) {
  std::vector<Ranks> members;
  const auto list = [&] {
    members.assign(at(1 + *std::ranges::max_element(nodes)), {});
    for (std::size_t i = 0; i < nodes.size(); i++) members[at(nodes[i])].push_back(static_cast<int>(i));
  };
  for (int sweep = 0; sweep < most_sweeps; sweep++) {
    bool changed = false;
    list();
    for (int vertex = 0; at(vertex) < graph.size(); vertex++) {
      int best = 0;
      int with = vertex;
      for (const int neighbour : graph.of(vertex)) {
        if (nodes[at(neighbour)] == nodes[at(vertex)]) continue;
        for (const int other : members[at(nodes[at(neighbour)])]) {
          if (nodes[at(other)] == nodes[at(vertex)]) continue; // moved in this sweep
          if (const int found = gain(graph, vertex, other, nodes); found > best) {
            best = found;
            with = other;
          }
        }
      }
      if (best > 0) {
        std::swap(nodes[at(vertex)], nodes[at(with)]);
        changed = true;
      }
    }
    if (!changed) return;
  }
}

// Fills one node after the other with what is joined most to those in it.
Ranks grown(const Graph &graph, const std::vector<std::size_t> &room) {
  Ranks nodes(graph.size(), -1);
  std::size_t seed = 0;
  for (std::size_t node = 0; node < room.size(); node++) {
    std::vector<int> edges(graph.size());
    for (std::size_t place = 0; place < room[node]; place++) {
      while (nodes[seed] >= 0) seed++;
      std::size_t best = seed;
      for (std::size_t i = 0; i < edges.size(); i++)
        if (nodes[i] < 0 && edges[i] > edges[best]) best = i;
      nodes[best] = static_cast<int>(node);
      for (const int other : graph.of(static_cast<int>(best))) edges[at(other)]++;
    }
  }
  return nodes;
}

void fill_boxes(std::span<const int> dims, std::size_t left, Ranks &sides, std::vector<Ranks> &found) {
  const std::size_t axis = sides.size();
  if (axis == dims.size()) {
    if (left == 1) found.push_back(sides);
    return;
  }
  for (int side = 1; side <= dims[axis]; side++) {
    if (dims[axis] % side != 0 || left % at(side) != 0) continue;
    sides.push_back(side);
    fill_boxes(dims, left / at(side), sides, found);
    sides.pop_back();
  }
}

} // namespace

void Graph::join(int from, int to) {
  if (from == to) return;
  joined_[at(from)].push_back(to);
  joined_[at(to)].push_back(from);
}

Graph grid(std::span<const int> dims, std::span<const int> periods) {
  int size = 1;
  for (const int extent : dims) size *= extent;
  Graph graph{at(size)};
  int stride = size; // the last axis is the fastest
  for (std::size_t axis = 0; axis < dims.size(); axis++) {
    stride /= dims[axis];
    for (int vertex = 0; vertex < size; vertex++) {
      const int place = vertex / stride % dims[axis];
      if (place + 1 < dims[axis])
        graph.join(vertex, vertex + stride);
      else if (periods[axis] != 0)
        graph.join(vertex, vertex - place * stride);
    }
  }
  return graph;
}

Ranks boxes(const Graph &graph, std::span<const int> dims, std::size_t ranks) {
  std::vector<Ranks> shapes;
  Ranks sides;
  fill_boxes(dims, ranks, sides, shapes);
  Ranks best;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const Ranks &shape : shapes) {
    Ranks nodes(graph.size());
    for (std::size_t vertex = 0; vertex < nodes.size(); vertex++) {
      int node = 0;
      auto rest = static_cast<int>(graph.size());
      for (std::size_t axis = 0; axis < dims.size(); axis++) {
        rest /= dims[axis];
        const int place = static_cast<int>(vertex) / rest % dims[axis];
        node = node * (dims[axis] / shape[axis]) + place / shape[axis];
      }
      nodes[vertex] = node;
    }
    if (const std::size_t edges = cut(graph, nodes); edges < fewest) {
      fewest = edges;
      best = nodes;
    }
  }
  return best;
}

Ranks arranged(const Graph &graph, const Ranks &nodes, const Ranks &candidate) {
  std::vector<Ranks> processes(nodes.empty() ? 0 : at(1 + *std::ranges::max_element(nodes)));
  for (std::size_t i = 0; i < nodes.size(); i++) processes[at(nodes[i])].push_back(static_cast<int>(i));
  std::vector<std::size_t> room;
  room.reserve(processes.size());
  for (const Ranks &ranks : processes) room.push_back(ranks.size());

  Ranks own(nodes.size());
  std::iota(own.begin(), own.end(), 0);
  if (room.size() < 2) return own;
  std::vector<Ranks> begins{nodes, grown(graph, room)};
  if (!candidate.empty()) begins.push_back(candidate);
  std::size_t fewest = cut(graph, nodes);
  const Ranks *best = nullptr;
  for (Ranks &begin : begins) {
    refine(graph, begin);
    if (const std::size_t edges = cut(graph, begin); edges < fewest) {
      fewest = edges;
      best = &begin;
    }
  }
  if (best == nullptr) return own;
  std::vector<std::size_t> filled(room.size());
  for (std::size_t vertex = 0; vertex < best->size(); vertex++) {
    const std::size_t node = at((*best)[vertex]);
    own[at(processes[node][filled[node]++])] = static_cast<int>(vertex);
  }
  return own;
}

} // namespace haloscope::place
