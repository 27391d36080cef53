#include "watch/collecting/region_rows.hpp"

#include "watch/collecting/rows.hpp"

#include <algorithm>
#include <limits>

namespace haloscope::watch {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
// The CPU time of a region is known if it was read for this share of its time.
constexpr double read_share = 0.99;

void widen(Extremes &to, const Extremes &by, bool first) {
  for (unsigned q = 0; q < quantities; q++) {
    to.least[q] = first ? by.least[q] : std::min(to.least[q], by.least[q]);
    to.most[q] = first ? by.most[q] : std::max(to.most[q], by.most[q]);
  }
}

void spread_partners(RegionTotals &region) {
  for (RegionTotals *outer = &region; outer != nullptr; outer = outer->parent) {
    outer->nested_destinations.insert(region.destinations.begin(), region.destinations.end());
    outer->nested_sources.insert(region.sources.begin(), region.sources.end());
  }
}

} // namespace

RegionTotals &RegionRows::add(std::uint64_t path, const Node &node, RegionTotals *parent,
                              std::uint64_t latest) {
  RegionTotals &region = regions_[path];
  region.parent = parent;
  region.path = path;
  if (node.instances > 0) {
    widen(region.inclusive, node.inclusive, region.instances == 0);
    widen(region.exclusive, node.exclusive, region.instances == 0);
  }
  region.instances += node.instances;
  region.cpu += node.cpu;
  region.cpu_ticks += node.cpu_ticks;
  // The process may have ended in an instance. It lasted at least until the last event that is known.
  const std::uint64_t lasted = ticks_in(node, latest);
  region.ticks += lasted;
  if (path == 0) longest_root_ = std::max(longest_root_, lasted);
  for (unsigned q = 0; q < quantities; q++) region.totals[q] += node.now[q];
  add_counted(region, node);
  region.skew += node.skew_ticks;
  region.largest = std::max(region.largest, node.largest_message);
  region.omp_threads = std::max(region.omp_threads, node.omp_threads);
  sizes_spilled_ += node.sizes_spilled;
  return region;
}

template <class Row> Row RegionRows::row_of(const RegionTotals &region) const {
  return {.path = region.path,
          .rank = rank(),
          .instances = region.instances,
          .time = seconds(region.ticks),
          .cpu_time = cpu_time(region),
          .sends = region.totals[sends],
          .recvs = region.totals[recvs],
          .bytes_sent = region.totals[bytes_sent],
          .bytes_recv = region.totals[bytes_recv],
          .colls = region.totals[colls],
          .counted = rows::counted(region, tick()),
          .skew_time = process().settings.sync_collectives == 0 ? unknown : seconds(region.skew),
          .largest_message = region.largest,
          .omp_threads = region.omp_threads,
          .dest_ranks = region.nested_destinations.size(),
          .src_ranks = region.nested_sources.size(),
          .dest_ranks_exclusive = region.destinations.size(),
          .src_ranks_exclusive = region.sources.size(),
          .extremes = rows::extremes(region.inclusive, region.exclusive)};
}

template <class Row> void RegionRows::add_rows() {
  for (auto &[path, region] : regions_) spread_partners(region);
  for (const auto &[path, region] : regions_) append(row_of<Row>(region));
}
void RegionRows::add_main_thread() { add_rows<rows::MainThread>(); }
void RegionRows::finish() { add_rows<rows::Ranks>(); }

const std::uint64_t *RegionRows::duration() const noexcept {
  return regions_.contains(0) ? &longest_root_ : nullptr;
}

double RegionRows::cpu_time(const RegionTotals &region) const {
  const double read = seconds(region.cpu_ticks), least = 1e-3 * static_cast<double>(region.instances);
  const bool is_known = region.instances > 0 && read >= std::max(least, read_share * seconds(region.ticks));
  // Both clocks are read one after the other, and differ in their rates.
  return is_known ? std::min(1e-9 * static_cast<double>(region.cpu), seconds(region.ticks)) : unknown;
}

} // namespace haloscope::watch
