// The rows of the tables `calls`, `unaccounted`, `collectives`, `sizes`, `transfers` and `nccl` of one
// process. The messages in `calls` and `sizes` are from MessageRows.
#pragma once

#include "watch/collecting/row_writer.hpp"
#include "watch/records/open_call.hpp"

namespace haloscope::watch {

class CallRows : RowWriter {
public:
  using RowWriter::RowWriter;

  // Adds one region of one thread, with its settled estimate.
  void add(std::uint64_t path, const Node &node, const SettledTimes &times);
  // Adds a call that the thread has not returned from, and that has lasted for `ticks`.
  void add(std::uint64_t path, const OpenCall &open, std::uint64_t ticks);

private:
  void add_calls(std::uint64_t path, const CallPages &pages, Memory of, const SettledTimes &times);
  void add_transfers(std::uint64_t path, const Node &node);
  void add_nccl(std::uint64_t path, const Node &node);
  void add_sizes(std::uint64_t path, const Node &node, const SettledTimes &times);
  void add_collectives(std::uint64_t path, const Node &node);
};

} // namespace haloscope::watch
