// What was injected, a row a latency, written by rank 0 in MPI_Finalize.
#pragma once

#include "waiting.hpp"

#include <cstdint>
#include <vector>

namespace haloscope::inject {

enum class What : std::uint8_t { message, collective, one_sided };

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

struct Journal {
  std::vector<Row> rows;
  std::uint64_t left_out = 0;

  void add(const Row &row, std::uint64_t limit) {
    if (rows.size() < limit)
      rows.push_back(row);
    else
      left_out++;
  }
};

// HALOSCOPE_INJECT_RECORD names the file; without it nothing is written. The first is collective; the
// other one writes this rank's rows into a file of its own, which haloscope inject adds to the first.
void write_journal();
void leave_journal();

} // namespace haloscope::inject
