// The record of injected latencies, one row each. Each rank writes its rows into its own file, block after
// block. If a rank is killed, only its last block is missing.
#pragma once

#include "interpose/moment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace haloscope::inject {

using interpose::Moment;

enum class What : std::uint8_t { message, collective, one_sided };

// A row as in the file; python/haloscope/hide/records.py reads it.
struct Row {
  Moment sent;               // when the message was sent, or the collective was over
  double latency;            // seconds
  std::int32_t partner = -1; // world rank of the receiver, or the target
  std::int32_t tag = -1;     // of a message
  std::int16_t regime;
  std::int16_t machine_state;
  std::uint8_t link; // 1: between nodes
  std::uint8_t once; // whether a single delay is in it
  What what = What::message;
};
static_assert(sizeof(Row) == 32);

class Journal {
public:
  // Opens this rank's file in the directory of the record, which HALOSCOPE_INJECT_OUTPUT names. Without the
  // variable there is no record.
  void open();
  void add(const Row &row);
  // Before the process may end.
  void flush();
  // Also adds a line to the file that HALOSCOPE_INJECT_SUMMARY names, if this node can see it.
  void close();

private:
  std::string path_;
  int file_ = -1;
  std::vector<Row> rows_;     // not written yet; `sent` counted from the begin
  std::uint64_t written_ = 0; // bytes
  std::uint64_t latencies_ = 0;
  double sum_ = 0, longest_ = 0;
};

} // namespace haloscope::inject
