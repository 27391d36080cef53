// What was injected, a row a latency. Each rank writes its rows into a file of its own, block after block:
// what a rank that is killed has injected is there, but for its last block.
#pragma once

#include "interpose/moment.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace haloscope::inject {

using interpose::Moment;

enum class What : std::uint8_t { message, collective, one_sided };

// As it is in the file; python/haloscope/hide/_inject_record.py reads it.
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
  // HALOSCOPE_INJECT_RECORD names the record, without it there is none; this rank's file lies beside it.
  void open();
  void add(const Row &row);
  // Before the process may end.
  void flush();
  // With a line in the file that HALOSCOPE_INJECT_SUMMARY names, where it can be seen.
  void close();

private:
  std::string path_;
  int file_ = -1;
  std::vector<Row> rows_; // not written yet; `sent` counted from the begin
  std::uint64_t latencies_ = 0;
  double sum_ = 0, longest_ = 0;
};

} // namespace haloscope::inject
