// A trace as columns, which Python owns: haloscope.explain.export.trace_columns has the same structures.
// They are those of the trace itself: what a format makes of a value is looked up when it is needed, so that
// nothing is kept an event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace haloscope::exporting {

// Rows of `calls` that start and complete something; -1 where no call does. Rows are those of a rank after
// those of another.
struct Ends {
  int64_t count;
  const int64_t *started;
  const int64_t *completed;
  const int32_t *rank;
};

struct Messages {
  Ends ends;
  const int32_t *partner; // a world rank; -1: not known
  const int32_t *tag;
  const int32_t *communicator;
  const int64_t *bytes;
};

struct Collectives {
  Ends ends;
  const uint32_t *code; // of the operation
  const int32_t *communicator;
  const int32_t *root; // a world rank; -1: none
  const int64_t *number;
  const int64_t *bytes_sent;
  const int64_t *bytes_received;
  const int32_t *operations; // by code: a number of the format's; -1: it is left out

  int32_t operation(int64_t row) const { return operations[code[row]]; }
};

// Ranks that communicators have, by place; a row without a rank (-1) for each communicator that is known.
struct Members {
  int64_t count;
  const int32_t *communicator;
  const int32_t *rank;
  const int32_t *place;
};

// A thread of a rank has calls [first_calls[l], first_calls[l + 1]), and regions by first_regions in the same
// way.
struct Columns {
  int64_t locations;
  const int32_t *ranks;
  const int32_t *threads;
  const int64_t *first_calls;
  const int64_t *first_regions;
  const int64_t *call_begins;
  const int64_t *call_ends;
  const uint32_t *call_codes;
  const int32_t *call_paths;
  const int64_t *call_bytes;
  const int64_t *region_begins;
  const int64_t *region_ends;
  const int32_t *region_paths;
  const int32_t *functions; // by code: a number of the format's
  const int32_t *parents;   // of paths; -1 above the root
  int64_t paths;
  int64_t earliest; // of all times; they are told from there
  Messages sends;
  Messages receives;
  Collectives collectives;
  Members members;

  int64_t call_begin(int64_t row) const { return call_begins[row] - earliest; }
  int64_t call_end(int64_t row) const { return call_ends[row] - earliest; }
  int64_t region_begin(int64_t row) const { return region_begins[row] - earliest; }
  int64_t region_end(int64_t row) const { return region_ends[row] - earliest; }
  int32_t call_function(int64_t row) const { return functions[call_codes[row]]; }
  int32_t call_path(int64_t row) const { return known(call_paths[row]); }
  int32_t region_path(int64_t row) const { return known(region_paths[row]); }

private:
  // Rows without a path belong to the root.
  int32_t known(int32_t path) const { return path >= 0 && path < paths ? path : 0; }
};

// A part of a table.
struct Range {
  int64_t first;
  int64_t last;
  int64_t size() const { return last - first; }
};

// The rows of a rank: all rows, if the ranks are not in order.
class Ranks {
public:
  explicit Ranks(const Ends &ends)
      : ranks_(ends.rank, static_cast<size_t>(ends.count)), is_sorted_(std::ranges::is_sorted(ranks_)) {}

  bool is_sorted() const { return is_sorted_; }

  Range of(int32_t rank) const {
    if (!is_sorted_) return {0, static_cast<int64_t>(ranks_.size())};
    const auto [first, last] = std::ranges::equal_range(ranks_, rank);
    return {first - ranks_.begin(), last - ranks_.begin()};
  }

private:
  std::span<const int32_t> ranks_;
  bool is_sorted_;
};

} // namespace haloscope::exporting
