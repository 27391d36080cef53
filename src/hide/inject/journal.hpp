// What was injected, a row a latency, written by rank 0 in MPI_Finalize.
#pragma once

#include "waiting.hpp"

#include <cstdint>
#include <vector>

namespace haloscope::inject {

struct Row {
  Moment sent;          // when the message was sent, or the collective was over
  double latency;       // seconds
  std::int32_t partner; // world rank of the receiver; -1 for a collective
  std::int32_t tag;     // -1 for a collective
  std::int16_t regime;
  std::int16_t machine_state;
  std::uint16_t link; // 1: between nodes
  std::uint16_t once; // whether a single delay is in it
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

// Collective. HALOSCOPE_INJECT_RECORD names the file; without it nothing is written.
void write_journal();

} // namespace haloscope::inject
