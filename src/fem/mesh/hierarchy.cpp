#include "fem/mesh/hierarchy.hpp"

#include "fem/mesh/communicator.hpp"
#include "fem/mesh/patches.hpp"

#include <algorithm>
#include <utility>

namespace haloscope::fem {

Hierarchy::Hierarchy(Forest finest, int degree, const HierarchySettings &settings) {
  aligned_ = finest.alignment(settings.imbalance);
  finest.partition(aligned_);
  imbalance_ = finest.imbalance();
  const auto add = [&](Forest forest, int of_degree) {
    Nodes nodes(forest, of_degree);
    levels_.push_back({std::move(forest), std::move(nodes)});
  };
  const auto has_room = [&] { return std::cmp_less(levels_.size(), settings.most_levels); };
  add(std::move(finest), degree);
  for (int lower = degree; lower > 1 && has_room();) {
    lower = (lower + 1) / 2;
    add(levels_.back().forest.copy(), lower);
  }
  while (has_room()) {
    const Level &fine = levels_.back();
    if (fine.forest.all_elements() <= settings.coarsest_elements) break;
    Forest coarse = fine.forest.coarsened();
    if (2 * coarse.all_elements() > fine.forest.all_elements()) break; // not worth a level
    add(std::move(coarse), fine.nodes.degree());
  }
}

namespace {

// Nodes that their owner does not compute, in a numbering of their own: those that are asked for, then those
// that are computed for others.
Links compact(const Links &rescued) {
  std::int32_t next = 0;
  Links links = rescued;
  for (Links::Neighbour &with : links.neighbours)
    for (std::int32_t &node : with.send) node = next++;
  for (Links::Neighbour &with : links.neighbours)
    for (std::int32_t &node : with.receive) node = next++;
  return links;
}

std::vector<std::int32_t> sent(const Links &links) {
  std::vector<std::int32_t> nodes;
  for (const Links::Neighbour &with : links.neighbours)
    nodes.insert(nodes.end(), with.send.begin(), with.send.end());
  return nodes;
}

std::vector<std::int32_t> masked(std::span<const std::uint8_t> mask, std::size_t owned) {
  std::vector<std::int32_t> nodes;
  for (std::size_t i = 0; i < std::min(mask.size(), owned); i++)
    if (mask[i] != 0) nodes.push_back(static_cast<std::int32_t>(i));
  return nodes;
}

bool meets_ghosts(const Patch &patch, std::size_t coarse_owned, std::size_t fine_owned) {
  return std::ranges::any_of(patch.nodes,
                             [&](std::int32_t node) { return std::cmp_greater_equal(node, coarse_owned); }) ||
         std::ranges::any_of(patch.targets, [&](const Target &target) {
           return std::cmp_greater_equal(target.node, fine_owned);
         });
}

} // namespace

struct Transfer::Impl {
  Impl(const Level &fine, const Level &coarse, std::span<const std::uint8_t> fine_masked,
       std::span<const std::uint8_t> coarse_masked, const Holders &holders)
      : fine_owned(fine.nodes.owned()), coarse_owned(coarse.nodes.owned()),
        inner(coarse.nodes.degree(), fine.nodes.degree()), outer(coarse.nodes.degree(), fine.nodes.degree()),
        coarse_exchange(coarse.nodes.communicator(), coarse.nodes.links()),
        rescue(coarse.nodes.communicator(), compact(holders.rescued)), asked(sent(holders.rescued)),
        coarse_zero(masked(coarse_masked, coarse_owned)), fine_zero(masked(fine_masked, fine_owned)),
        coarse_values(coarse.nodes.local()) {
    rescued.resize(asked.size());
    for (const Links::Neighbour &with : holders.rescued.neighbours)
      rescued.resize(rescued.size() + with.receive.size());
    std::vector<Patch> inside, outside;
    for (Patch &patch : patches(fine, coarse, holders, fine_masked))
      (meets_ghosts(patch, coarse_owned, fine_owned) ? outside : inside).push_back(std::move(patch));
    inner.add(inside), outer.add(outside);
  }

  std::size_t fine_owned, coarse_owned;
  Patches inner, outer; // without ghosts, and with
  Ghosts coarse_exchange, rescue;
  std::vector<std::int32_t> asked; // owned fine nodes whose values others compute
  std::vector<std::int32_t> coarse_zero, fine_zero;
  std::vector<double> coarse_values, rescued;
};

Transfer::Transfer(const Level &fine, const Level &coarse, std::span<const std::uint8_t> fine_masked,
                   std::span<const std::uint8_t> coarse_masked)
    : impl_(std::make_unique<Impl>(fine, coarse, fine_masked, coarse_masked, find_holders(fine, coarse))) {}
Transfer::Transfer(Transfer &&) noexcept = default;
Transfer &Transfer::operator=(Transfer &&) noexcept = default;
Transfer::~Transfer() = default;

void Transfer::interpolate(const double *coarse, double *fine) {
  Impl &my = *impl_;
  std::copy_n(coarse, my.coarse_owned, my.coarse_values.data());
  for (const std::int32_t node : my.coarse_zero) my.coarse_values[static_cast<std::size_t>(node)] = 0;
  const Patches::Fine target{fine, my.rescued.data() + my.asked.size(),
                             static_cast<std::int32_t>(my.fine_owned)};
  my.coarse_exchange.forward_start(my.coarse_values.data());
  my.inner.interpolate(my.coarse_values.data(), target);
  my.coarse_exchange.forward_finish(my.coarse_values.data());
  std::ranges::fill(my.rescued, 0.0);
  my.outer.interpolate(my.coarse_values.data(), target);
  my.rescue.reverse(my.rescued.data());
  for (std::size_t i = 0; i < my.asked.size(); i++) fine[my.asked[i]] = my.rescued[i];
  for (const std::int32_t node : my.fine_zero) fine[node] = 0;
}

void Transfer::restrict(const double *fine, double *coarse) {
  Impl &my = *impl_;
  for (std::size_t i = 0; i < my.asked.size(); i++) my.rescued[i] = fine[my.asked[i]];
  my.rescue.forward(my.rescued.data());
  std::ranges::fill(my.coarse_values, 0.0);
  const Patches::ConstantFine source{fine, my.rescued.data() + my.asked.size(),
                                     static_cast<std::int32_t>(my.fine_owned)};
  my.outer.restrict(source, my.coarse_values.data());
  my.coarse_exchange.reverse_start(my.coarse_values.data());
  my.inner.restrict(source, my.coarse_values.data());
  my.coarse_exchange.reverse_finish(my.coarse_values.data());
  for (const std::int32_t node : my.coarse_zero) my.coarse_values[static_cast<std::size_t>(node)] = 0;
  std::copy_n(my.coarse_values.data(), my.coarse_owned, coarse);
}

} // namespace haloscope::fem
