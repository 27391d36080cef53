// The rows of messages or collectives that belong to a call, asked for calls in order.
//
// Rows have the order in which a rank started them, so the order of their completing calls is nearly the
// same. The difference is at most the number of requests under way. Only that many rows are kept and sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "explain/exporting/columns.hpp"

namespace haloscope::exporting {

// Rows that one call starts or completes.
class Rows {
public:
  Rows() = default;
  Rows(const int64_t *rows, int64_t size) : rows_(rows), size_(size) {}
  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const { return rows_[i]; }
  const int64_t *begin() const { return rows_; }
  const int64_t *end() const { return rows_ + size_; }

private:
  const int64_t *rows_ = nullptr;
  int64_t size_ = 0;
};

class Cursor {
public:
  explicit Cursor(const int64_t *column) : column_(column) {}

  // Begins with the first of `calls`, for which `rows` are looked at.
  void begin(Range rows, Range calls) {
    rows_ = rows;
    calls_ = calls;
    kept_ = 0;
    while (!is_enough()) kept_ = kept_ == 0 ? fewest : 4 * kept_;
    rewind();
    next_ = take();
  }

  // Holds until the next call is asked for.
  Rows of(int64_t call) {
    found_.clear();
    while (next_.first < call) next_ = take();
    for (; next_.first == call; next_ = take()) found_.push_back(next_.second);
    return {found_.data(), static_cast<int64_t>(found_.size())};
  }

private:
  using Entry = std::pair<int64_t, int64_t>; // call and row
  static constexpr Entry none{INT64_MAX, 0};
  static constexpr size_t fewest = 64;

  void rewind() {
    at_ = rows_.first;
    waiting_ = {};
  }

  // Whether rows come in the order of calls if `kept_` of them are looked at ahead.
  bool is_enough() {
    rewind();
    Entry last{INT64_MIN, 0};
    for (Entry entry = take(); entry != none; entry = take()) {
      if (entry < last) return false;
      last = entry;
    }
    return true;
  }

  Entry read() {
    for (; at_ < rows_.last; ++at_) {
      const int64_t call = column_[at_];
      if (call >= calls_.first && call < calls_.last) return {call, at_++};
    }
    return none;
  }

  Entry take() {
    if (kept_ == 0) return read();
    while (waiting_.size() <= kept_) {
      const Entry entry = read();
      if (entry == none) break;
      waiting_.push(entry);
    }
    if (waiting_.empty()) return none;
    const Entry least = waiting_.top();
    waiting_.pop();
    return least;
  }

  const int64_t *column_;
  Range rows_{}, calls_{};
  int64_t at_ = 0;
  size_t kept_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting_;
  Entry next_ = none;
  std::vector<int64_t> found_;
};

// The calls that start messages or collectives, and those that complete them.
class Starts {
public:
  explicit Starts(const Ends &ends) : ranks_(ends), started_(ends.started), completed_(ends.completed) {}

  void begin(int32_t rank, Range calls) {
    const Range rows = ranks_.of(rank);
    started_.begin(rows, calls);
    completed_.begin(rows, calls);
  }

  Rows started(int64_t call) { return started_.of(call); }
  Rows completed(int64_t call) { return completed_.of(call); }

private:
  Ranks ranks_;
  Cursor started_, completed_;
};

} // namespace haloscope::exporting
