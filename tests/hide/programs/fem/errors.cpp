// Errors are thrown on all ranks, also if only one rank can detect them: lines `case message`.
#include "fem/mesh/communicator.hpp"
#include "fem/mesh/hierarchy.hpp"

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace haloscope::fem;

namespace {

Forest uniform(int level) { return {MPI_COMM_WORLD, {}, level}; }

// Near one corner of the mesh, so on one rank only.
bool last(const Point &at) { return at[0] > 0.9 && at[1] > 0.9 && at[2] > 0.9; }

void unbalanced() {
  Forest forest = uniform(3);
  for (int i = 0; i < 3; i++) forest.refine_unbalanced([](Point at, double) { return last(at); });
  const Nodes nodes(forest, 1);
}

// One vertex is pulled through the element above it.
Point pulled(Point at) {
  const bool vertex = at[0] == 0.75 && at[1] == 0.75 && at[2] == 0.75;
  return vertex ? Point{0.75, 0.75, 1.2} : at;
}

void permutation() {
  const Forest forest = uniform(3);
  Nodes nodes(forest, 1);
  std::vector<std::int32_t> order(nodes.owned());
  for (std::size_t i = 0; i < order.size(); i++) order[i] = static_cast<std::int32_t>(i);
  if (nodes.first() == 0) order[1] = 0;
  nodes.renumber(order);
}

void transfer() {
  Forest fine = uniform(3), coarse = uniform(1);
  Nodes fine_nodes(fine, 1), coarse_nodes(coarse, 1);
  const Level a{std::move(fine), std::move(fine_nodes)}, b{std::move(coarse), std::move(coarse_nodes)};
  const Transfer transfer(a, b);
}

} // namespace

int main(int count, char **words) {
  MPI_Init(&count, &words);
  const std::vector<std::pair<const char *, std::function<void()>>> cases{
      {"degree", [] { const Nodes nodes(uniform(1), 9); }},
      {"level", [] { uniform(19); }},
      {"trees", [] { const Forest forest(MPI_COMM_WORLD, {{1, 0, 1}, {}}, 1); }},
      {"unbalanced", unbalanced},
      {"inverted", [] { const Nodes nodes(Forest(MPI_COMM_WORLD, {{1, 1, 1}, pulled}, 2), 1); }},
      {"permutation", permutation},
      {"predicate",
       [] {
         uniform(2).refine([](Point at, double) {
           return last({at[0] + 0.1, at[1] + 0.1, at[2] + 0.1}) ? throw std::out_of_range("no such place")
                                                                : false;
         });
       }},
      {"transfer", transfer},
  };
  for (const auto &[name, run] : cases) {
    std::string line = std::string(name) + " nothing";
    try {
      run();
    } catch (const Error &error) {
      line = std::string(name) + " " + error.what();
    }
    std::puts(line.c_str());
    std::fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
