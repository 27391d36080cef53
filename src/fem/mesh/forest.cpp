#include "fem/mesh/forest.hpp"

#include "fem/mesh/communicator.hpp"

#include <p8est.h>
#include <p8est_bits.h>
#include <p8est_extended.h>

#include <algorithm>
#include <array>
#include <exception>
#include <set>
#include <string>

namespace haloscope::fem {

// State that all levels of a forest share.
struct Forest::Shared {
  Shared(MPI_Comm parent, const std::array<int, 3> &brick)
      : communicator(parent), trees(brick),
        connectivity(p8est_connectivity_new_brick(brick[0], brick[1], brick[2], 0, 0, 0)) {}
  Shared(const Shared &) = delete;
  Shared &operator=(const Shared &) = delete;
  Shared(Shared &&) = delete;
  Shared &operator=(Shared &&) = delete;
  ~Shared() { p8est_connectivity_destroy(connectivity); }

  // The position of a tree's lower corner in the brick, in trees.
  [[nodiscard]] double place(std::int32_t tree, std::size_t direction) const noexcept {
    const p4est_topidx_t vertex =
        connectivity->tree_to_vertex[static_cast<std::ptrdiff_t>(P8EST_CHILDREN) * tree];
    return connectivity->vertices[3 * static_cast<std::size_t>(vertex) + direction];
  }

  Communicator communicator;
  std::array<int, 3> trees;
  p8est_connectivity_t *connectivity;
};

static_assert(root_bits == P8EST_MAXLEVEL);

namespace {

void quiet() {
  static const bool done = [] {
    sc_set_log_defaults(nullptr, nullptr, SC_LP_ERROR);
    p4est_init(nullptr, SC_LP_ERROR);
    return true;
  }();
  static_cast<void>(done);
}

std::string wrong(const Domain &domain, int level) {
  if (std::ranges::any_of(domain.trees, [](int trees) { return trees < 1; }))
    return "a forest needs at least one tree in each direction";
  if (level < 0 || level > P8EST_QMAXLEVEL)
    return "level " + std::to_string(level) + " of a forest is not in 0…" + std::to_string(P8EST_QMAXLEVEL);
  return "";
}

using Key = std::array<std::int32_t, 5>;

Key key(std::int32_t tree, const p8est_quadrant_t &leaf) {
  return {tree, leaf.x, leaf.y, leaf.z, leaf.level};
}

// p8est's callbacks are C functions: the elements to be refined were found before.
int chosen(p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *leaf) {
  return static_cast<int>(
      static_cast<const std::set<Key> *>(forest->user_pointer)->contains(key(tree, *leaf)));
}

int always(p8est_t *, p4est_topidx_t, p8est_quadrant_t *[]) { return 1; }

} // namespace

void Forest::Destroy::operator()(::p8est *forest) const noexcept {
  if (int finalized = 0; MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0) p8est_destroy(forest);
}

Forest::Forest(Forest &&) noexcept = default;
Forest &Forest::operator=(Forest &&) noexcept = default;
Forest::~Forest() = default;

Forest::Forest(MPI_Comm communicator, const Domain &domain, int level) : deformation_(domain.deformation) {
  agree(communicator, wrong(domain, level));
  quiet();
  shared_ = std::make_shared<Shared>(communicator, domain.trees);
  forest_.reset(
      p8est_new_ext(shared_->communicator.get(), shared_->connectivity, 0, level, 1, 0, nullptr, nullptr));
  read();
}

void Forest::read() {
  leaves_.clear();
  for (p4est_topidx_t tree = forest_->first_local_tree; tree <= forest_->last_local_tree; tree++) {
    sc_array_t *leaves = &p8est_tree_array_index(forest_->trees, tree)->quadrants;
    for (std::size_t i = 0; i < leaves->elem_count; i++) {
      const p8est_quadrant_t &leaf = *p8est_quadrant_array_index(leaves, i);
      leaves_.push_back({tree, leaf.x, leaf.y, leaf.z, leaf.level});
    }
  }
}

void Forest::refine_once(const Predicate &wanted) {
  std::set<Key> marked;
  std::string failed;
  try {
    for (const Leaf &leaf : leaves_) {
      const double edge = size(leaf);
      Point centre = corner(leaf);
      for (double &coordinate : centre) coordinate += edge / 2;
      if (wanted(centre, edge)) marked.insert({leaf.tree, leaf.x, leaf.y, leaf.z, leaf.level});
    }
  } catch (const std::exception &error) {
    failed = std::string("the predicate of refinement failed: ") + error.what();
  }
  agree(communicator(), failed);
  forest_->user_pointer = &marked;
  p8est_refine_ext(forest_.get(), 0, P8EST_QMAXLEVEL, chosen, nullptr, nullptr);
  forest_->user_pointer = nullptr;
  balanced_ = false;
  read();
}

void Forest::refine_unbalanced(const Predicate &wanted) { refine_once(wanted); }

void Forest::refine(const Predicate &wanted, int passes) {
  for (int pass = 0; pass < passes; pass++) {
    refine_once(wanted);
    partition();
  }
  balance();
  partition();
}

void Forest::balance() {
  p8est_balance(forest_.get(), P8EST_CONNECT_FULL, nullptr);
  balanced_ = true;
  read();
}

Forest Forest::copy() const {
  Forest same;
  same.shared_ = shared_;
  same.deformation_ = deformation_;
  same.forest_.reset(p8est_copy(forest_.get(), 0));
  same.leaves_ = leaves_;
  same.balanced_ = balanced_;
  return same;
}

int Forest::uniform_levels(int most) const {
  std::array<int, 2> range{P8EST_QMAXLEVEL, 0}; // the lowest level, and minus the highest
  for (const Leaf &leaf : leaves_)
    range = {std::min<int>(range[0], leaf.level), std::min<int>(range[1], -leaf.level)};
  MPI_Allreduce(MPI_IN_PLACE, range.data(), 2, MPI_INT, MPI_MIN, communicator());
  if (range[0] != -range[1]) return 0;
  int levels = 0;
  const auto whole = [&](int wanted) { // no cut between ranks splits a family
    for (int rank = 0; rank <= forest_->mpisize; rank++)
      if (forest_->global_first_quadrant[rank] % (std::int64_t{1} << (3 * wanted)) != 0) return false;
    return true;
  };
  while (levels < std::min(most, range[0]) && whole(levels + 1)) levels++;
  return levels;
}

Forest Forest::without_levels(int levels) const {
  Forest coarse = copy();
  for (int i = 0; i < levels; i++) p8est_coarsen_ext(coarse.forest_.get(), 0, 0, always, nullptr, nullptr);
  coarse.read();
  return coarse;
}

Forest Forest::coarsened() const {
  Forest coarse = copy();
  p8est_coarsen_ext(coarse.forest_.get(), 0, 0, always, nullptr, nullptr);
  coarse.balance();
  return coarse;
}

::p8est *Forest::get() const noexcept { return forest_.get(); }

MPI_Comm Forest::communicator() const noexcept { return shared_->communicator.get(); }

std::int64_t Forest::all_elements() const noexcept { return forest_->global_num_quadrants; }

std::int64_t Forest::first() const noexcept { return forest_->global_first_quadrant[forest_->mpirank]; }

double Forest::size(const Leaf &leaf) const noexcept {
  const double edge = P8EST_QUADRANT_LEN(leaf.level) / static_cast<double>(P8EST_ROOT_LEN);
  return edge / *std::ranges::max_element(shared_->trees);
}

std::vector<double> Forest::sizes() const {
  std::vector<double> sizes;
  sizes.reserve(leaves_.size());
  for (const Leaf &leaf : leaves_) sizes.push_back(size(leaf));
  return sizes;
}

Point Forest::corner(const Leaf &leaf) const noexcept {
  const std::array<std::int32_t, 3> at{leaf.x, leaf.y, leaf.z};
  Point corner{};
  for (std::size_t d = 0; d < 3; d++)
    corner.at(d) = (shared_->place(leaf.tree, d) + at.at(d) / static_cast<double>(P8EST_ROOT_LEN)) /
                   *std::ranges::max_element(shared_->trees);
  return corner;
}

unsigned Forest::boundary(const Leaf &leaf) const noexcept {
  const std::array<std::int32_t, 3> at{leaf.x, leaf.y, leaf.z};
  unsigned faces = 0;
  for (unsigned d = 0; d < 3; d++) {
    const int tree = static_cast<int>(shared_->place(leaf.tree, d));
    if (tree == 0 && at.at(d) == 0) faces |= 1U << (2 * d);
    if (tree == shared_->trees.at(d) - 1 && at.at(d) + P8EST_QUADRANT_LEN(leaf.level) == P8EST_ROOT_LEN)
      faces |= 2U << (2 * d);
  }
  return faces;
}

} // namespace haloscope::fem
