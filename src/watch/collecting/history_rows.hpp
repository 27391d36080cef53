// The rows of the tables `series`, `instances`, `values`, `phases` and `slices` of one process: its history.
#pragma once

#include "watch/collecting/region_rows.hpp"

namespace haloscope::watch {

class HistoryRows : RowWriter {
public:
  using RowWriter::RowWriter;

  // Adds the instances of one region of one thread. Instances of a further thread get the next numbers.
  void add_series(RegionTotals &region, const Node &node, std::uint64_t thread);
  void add_phases(const ThreadRecord &thread);
  // Adds the slices of a thread. `sums`: of its whole run; `latest`: its latest known tick.
  void add_slices(const ThreadRecord &thread, const Slice &sums, std::uint64_t latest);

private:
  [[nodiscard]] std::uint64_t most_doublings() const;
  void add_slice(Slice slice, std::uint64_t number, std::uint64_t length);
};

} // namespace haloscope::watch
