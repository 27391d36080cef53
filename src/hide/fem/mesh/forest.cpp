#include "hide/fem/mesh/forest.hpp"

#include "hide/fem/mesh/error.hpp"
#include "hide/fem/mesh/shared.hpp"

#include <p8est_bits.h>
#include <p8est_extended.h>

#include <algorithm>
#include <exception>
#include <set>
#include <string>

namespace haloscope::fem {

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

// p8est's callbacks are C: what is wanted was found out before.
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
  read();
}

Forest Forest::coarsened() const {
  Forest coarse;
  coarse.shared_ = shared_;
  coarse.deformation_ = deformation_;
  coarse.forest_.reset(p8est_copy(forest_.get(), 0));
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
