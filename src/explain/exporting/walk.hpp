// Walks through a trace, location after location, as if it happened: every enter has its leave, they nest,
// and time never goes back, whatever the columns say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "explain/exporting/columns.hpp"
#include "explain/exporting/cursor.hpp"

namespace haloscope::exporting {

// The operations that a call starts or completes.
struct Work {
  Rows sends;
  Rows receives;
  Rows collectives;
};

// A visitor has
//   begin_location(l), end_location()
//   enter_region(time, path), leave_region(time, path)
//   enter_call(time, call, Work started), leave_call(time, call, Work completed)
// and returns from each whether to go on.
template <class Visitor> class Walk {
public:
  Walk(const Columns &trace, Visitor &visitor)
      : trace_(trace), visitor_(visitor), sends_(trace.sends.ends), receives_(trace.receives.ends),
        collectives_(trace.collectives.ends) {}

  bool run() {
    for (int64_t l = 0; l < trace_.locations; ++l)
      if (!visitor_.begin_location(l) || !walk(l) || !visitor_.end_location()) return false;
    return true;
  }

private:
  struct Open {
    int64_t end;
    int64_t row;
    int32_t path;
    bool is_call;
    // While a call is open, its completed sends, receives and collectives are kept from this position on.
    size_t kept;
    int64_t sends, receives, collectives;
  };

  bool walk(int64_t l) {
    now_ = INT64_MIN;
    const Range all{trace_.first_calls[l], trace_.first_calls[l + 1]};
    for (Starts *each : {&sends_, &receives_, &collectives_}) each->begin(trace_.ranks[l], all);
    int64_t region = trace_.first_regions[l];
    int64_t call = all.first;
    const int64_t regions = trace_.first_regions[l + 1];
    const int64_t calls = all.last;
    while (region < regions || call < calls) {
      const bool is_region = call == calls || (region < regions && precedes(region, call));
      const bool goes_on = is_region ? open_region(region++) : open_call(call++);
      if (!goes_on) return false;
    }
    while (!open_.empty())
      if (!close()) return false;
    return true;
  }

  // A region that begins with a call is around it, unless the call took no time and is of another path.
  bool precedes(int64_t region, int64_t call) const {
    const int64_t begin = trace_.region_begin(region);
    if (begin != trace_.call_begin(call)) return begin < trace_.call_begin(call);
    return trace_.call_end(call) > begin || is_within(trace_.call_path(call), trace_.region_path(region));
  }

  bool is_within(int32_t path, int32_t outer) const {
    while (path >= 0 && path < trace_.paths && path != outer)
      path = trace_.parents[path] < path ? trace_.parents[path] : -1;
    return path == outer;
  }

  bool open_region(int64_t row) {
    const int32_t path = trace_.region_path(row);
    if (!close_before(trace_.region_begin(row), path, false)) return false;
    push({trace_.region_end(row), row, path, false, kept_.size(), 0, 0, 0}, trace_.region_begin(row));
    return visitor_.enter_region(now_, path);
  }

  bool open_call(int64_t row) {
    const int32_t path = trace_.call_path(row);
    if (!close_before(trace_.call_begin(row), path, true)) return false;
    const Work started{sends_.started(row), receives_.started(row), collectives_.started(row)};
    const size_t kept = kept_.size();
    const int64_t sent = keep(sends_.completed(row)), received = keep(receives_.completed(row)),
                  collected = keep(collectives_.completed(row));
    push({trace_.call_end(row), row, path, true, kept, sent, received, collected}, trace_.call_begin(row));
    return visitor_.enter_call(now_, row, started);
  }

  int64_t keep(const Rows &rows) {
    kept_.insert(kept_.end(), rows.begin(), rows.end());
    return rows.size();
  }

  void push(Open one, int64_t begin) {
    now_ = std::max(now_, begin);
    if (!open_.empty()) one.end = std::min(one.end, open_.back().end);
    open_.push_back(one);
  }

  // Ends all open calls and regions that are over. No region begins within a call, so calls end then. A
  // region that ends exactly when the next event begins encloses the event only if its path does.
  bool close_before(int64_t begin, int32_t path, bool is_call) {
    while (!open_.empty()) {
      Open &last = open_.back();
      if (last.is_call && !is_call) last.end = std::min(last.end, begin);
      const bool is_around = !last.is_call && is_within(path, last.path) && (is_call || path != last.path);
      if (last.end > begin || (last.end == begin && is_around)) return true;
      if (!close()) return false;
    }
    return true;
  }

  bool close() {
    const Open last = open_.back();
    open_.pop_back();
    now_ = std::max(now_, last.end);
    if (!last.is_call) return visitor_.leave_region(now_, last.path);
    const int64_t *rows = kept_.data() + last.kept;
    const Work completed{{rows, last.sends},
                         {rows + last.sends, last.receives},
                         {rows + last.sends + last.receives, last.collectives}};
    const bool goes_on = visitor_.leave_call(now_, last.row, completed);
    kept_.resize(last.kept);
    return goes_on;
  }

  const Columns &trace_;
  Visitor &visitor_;
  int64_t now_ = 0;
  std::vector<Open> open_;
  std::vector<int64_t> kept_;
  Starts sends_, receives_, collectives_;
};

} // namespace haloscope::exporting
