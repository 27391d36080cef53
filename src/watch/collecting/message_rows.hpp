// The rows of the tables `partners`, `neighbors` and `communicators` of one process. Messages are also part
// of `sizes` and `calls`.
#pragma once

#include "watch/collecting/region_rows.hpp"

#include <set>
#include <string>

namespace haloscope::watch {

class MessageRows : RowWriter {
public:
  using RowWriter::RowWriter;

  // Adds the messages of one region of one thread, and its partners to the region.
  void add(RegionTotals &region, const Node &node, const SettledTimes &times);
  // Adds the calls of one thread that used a communicator and are in no message record.
  void add(const CommunicatorUse &use);

private:
  void add_partners(RegionTotals &region, const Node &node, const SettledTimes &times);
  void add_message(RegionTotals &region, const MessageRecord &record, const SettledTimes &times);
  void add_communicator(const Communicator &communicator, std::uint64_t calls, std::uint64_t bytes);

  std::set<std::pair<std::uint64_t, std::string>> communicators_; // hash of the members, name
};

} // namespace haloscope::watch
