// A trace as columns, which Python owns: haloscope.explain.export._trace_columns has the same structures.
#pragma once

#include <cstdint>
#include <span>

namespace haloscope::exporting {

// Rows of `calls` that start and complete something; completed is -1 where nothing does. The orders list
// the rows sorted by these columns; they are null where the rows are so already.
struct Ends {
  int64_t count;
  const int64_t *started;
  const int64_t *completed;
  const int64_t *by_start;
  const int64_t *by_completion;
};

struct Messages {
  Ends ends;
  const int32_t *rank;
  const int32_t *partner; // as the format counts it; -1: it is left out
  const int32_t *tag;
  const int32_t *communicator;
  const int64_t *bytes;
};

struct Collectives {
  Ends ends;
  const int32_t *operation; // a number of the format's; -1: it is left out
  const int32_t *communicator;
  const int32_t *root; // in the communicator; -1: none
  const int64_t *number;
  const int64_t *bytes_sent;
  const int64_t *bytes_received;
};

// A thread of a rank has calls [first_calls[l], first_calls[l + 1]), likewise regions.
struct Columns {
  int64_t locations;
  const int32_t *ranks;
  const int32_t *threads;
  const int64_t *first_calls;
  const int64_t *first_regions;
  const int64_t *call_begin;
  const int64_t *call_end;
  const int32_t *call_function;
  const int32_t *call_path;
  const int64_t *call_bytes;
  const int64_t *region_begin;
  const int64_t *region_end;
  const int32_t *region_path;
  const int32_t *parents; // of paths; -1 above the root
  int64_t paths;
  Messages sends;
  Messages receives;
  Collectives collectives;
};

// The rows that one call starts or completes.
class Rows {
public:
  Rows() = default;
  Rows(const int64_t *order, int64_t first, int64_t last) : order_(order), first_(first), last_(last) {}
  int64_t size() const { return last_ - first_; }
  int64_t operator[](int64_t i) const { return order_ == nullptr ? first_ + i : order_[first_ + i]; }

private:
  const int64_t *order_ = nullptr;
  int64_t first_ = 0;
  int64_t last_ = 0;
};

// Finds them for calls that are asked for in order.
class Cursor {
public:
  Cursor(const int64_t *column, const int64_t *order, int64_t count)
      : column_(column), order_(order), count_(count) {}

  Rows of(int64_t call) {
    while (at_ < count_ && value(at_) < call) {
      ++at_;
    }
    const int64_t first = at_;
    while (at_ < count_ && value(at_) == call) {
      ++at_;
    }
    return {order_, first, at_};
  }

private:
  int64_t value(int64_t i) const { return column_[order_ == nullptr ? i : order_[i]]; }

  const int64_t *column_;
  const int64_t *order_;
  int64_t count_;
  int64_t at_ = 0;
};

} // namespace haloscope::exporting
