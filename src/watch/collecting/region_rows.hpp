// The rows of the tables `ranks` and `main_thread` of one process: the totals of each region.
#pragma once

#include "watch/collecting/row_writer.hpp"

#include <map>
#include <set>

namespace haloscope::watch {

// One region path of a process: the nodes of all its threads.
// NOLINTNEXTLINE(misc-multiple-inheritance): the sums that are declared, and others
struct RegionTotals : CountedOften, CountedRarely {
  RegionTotals *parent = nullptr;
  std::uint64_t path = 0;
  std::uint64_t begun = 0, instances = 0, ticks = 0;
  std::uint64_t cpu = 0, cpu_ticks = 0; // CPU time in ns, and the ticks in which it was read
  std::uint64_t skew = 0, largest = 0, omp_threads = 0;
  Quantities totals{};
  Extremes inclusive{}, exclusive{};
  std::set<std::int64_t> destinations, sources;               // exclusive
  std::set<std::int64_t> nested_destinations, nested_sources; // inclusive
};

class RegionRows : RowWriter {
public:
  using RowWriter::RowWriter;

  // Adds a node of one thread, whose latest known tick is `latest`, and returns the totals of its path.
  // `parent`: the totals of the enclosing region, nullptr for the root.
  RegionTotals &add(std::uint64_t path, const Node &node, RegionTotals *parent, std::uint64_t latest);
  // After the nodes of the main thread, if there are others: adds its rows.
  void add_main_thread();
  // Adds the rows, after the nodes of all threads.
  void finish();
  // Ticks of the root in the thread that recorded longest; nullptr if there is no root, because the rank does
  // not record.
  [[nodiscard]] const std::uint64_t *duration() const noexcept;
  // Messages whose exact size is not known, because the region had too many sizes.
  [[nodiscard]] std::uint64_t sizes_spilled() const noexcept { return sizes_spilled_; }

private:
  // In seconds; NaN: unknown.
  [[nodiscard]] double cpu_time(const RegionTotals &region) const;
  template <class Row> Row row_of(const RegionTotals &region) const;
  template <class Row> void add_rows();

  std::map<std::uint64_t, RegionTotals> regions_; // by path; addresses stay
  std::uint64_t sizes_spilled_ = 0, longest_root_ = 0;
};

} // namespace haloscope::watch
