// Cuts what each location did into stretches of time, and walks along the critical path in them.
#include "explain/timelines.hpp"
#include "explain/public.hpp"

#include <algorithm>
#include <new>
#include <vector>

namespace haloscope::explain {
namespace {

// Calls and visits of regions of location l are those from first_call[l] and first_visit[l] on, in order of
// time.
struct Recorded {
  const Index *first_call, *begin, *end, *wait; // of calls; the first `wait` of a call is waiting
  const std::int32_t *call_path;
  const Index *first_visit, *entered, *left; // of regions, outer ones first
  const std::int32_t *visit_path;
  Index start; // of all locations
  std::int32_t locations;
};

class Cutting {
public:
  Cutting(const Recorded &recorded, Stretches &stretches) : recorded_(recorded), stretches_(stretches) {}

  void run() {
    for (std::int32_t l = 0; l < recorded_.locations; l++) {
      stretches_.first[l] = count_;
      location(l);
    }
    stretches_.first[recorded_.locations] = count_;
  }

private:
  struct Open {
    Index left;
    std::int32_t path;
  };

  void location(std::int32_t l) {
    visit_ = recorded_.first_visit[l];
    last_visit_ = recorded_.first_visit[l + 1];
    now_ = recorded_.start;
    open_.clear();
    const Index first = recorded_.first_call[l], last = recorded_.first_call[l + 1];
    Index begun = INT64_MAX;
    if (first < last) begun = recorded_.begin[first];
    if (visit_ < last_visit_) begun = std::min(begun, recorded_.entered[visit_]);
    if (begun != INT64_MAX) reach(begun, 0, Kind::before, -1);
    for (Index call = first; call < last; call++) {
      compute_until(recorded_.begin[call]);
      stretches_.before_call[call] = count_;
      const std::int32_t path = recorded_.call_path[call];
      reach(recorded_.begin[call] + recorded_.wait[call], path, Kind::waiting, call);
      reach(recorded_.end[call], path, Kind::in_call, call);
      stretches_.after_call[call] = count_;
    }
    while (visit_ < last_visit_ || !open_.empty()) compute_until(next_mark());
  }

  Index next_mark() const noexcept {
    Index mark = INT64_MAX;
    if (!open_.empty()) mark = open_.back().left;
    if (visit_ < last_visit_) mark = std::min(mark, recorded_.entered[visit_]);
    return mark;
  }

  // Goes through what regions begin and end until then, the end among it.
  void compute_until(Index then) {
    for (Index mark = next_mark(); mark <= then && mark != INT64_MAX; mark = next_mark()) {
      reach(mark, open_.empty() ? 0 : open_.back().path, Kind::computing, -1);
      if (!open_.empty() && open_.back().left <= mark) {
        open_.pop_back();
      } else {
        // A call that lasts longer than the region around it ends with the region.
        Index left = recorded_.left[visit_];
        if (!open_.empty()) left = std::min(left, open_.back().left);
        open_.push_back({left, recorded_.visit_path[visit_]});
        visit_++;
      }
    }
    reach(then, open_.empty() ? 0 : open_.back().path, Kind::computing, -1);
  }

  void reach(Index then, std::int32_t path, Kind kind, Index call) noexcept {
    if (then <= now_) return;
    stretches_.from[count_] = now_;
    stretches_.to[count_] = then;
    stretches_.path[count_] = path;
    stretches_.kind[count_] = static_cast<std::uint8_t>(kind);
    stretches_.call[count_] = call;
    count_++;
    now_ = then;
  }

  const Recorded &recorded_;
  Stretches &stretches_;
  std::vector<Open> open_;
  Index visit_ = 0, last_visit_ = 0, now_ = 0, count_ = 0;
};

} // namespace

// Cuts each location's time into stretches, for which there is room: three a call, two a visit, one a
// location. Returns 0, or 1 if there is not enough memory.
HALOSCOPE_PUBLIC int haloscope_stretches(const Recorded *recorded, Stretches *stretches) {
  try {
    Cutting(*recorded, *stretches).run();
    return 0;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}

// Walks from the end of location `last` back to the start, from each waiting to its cause. cause[call] is the
// call at whose begin the waiting of a call was over, or -1. location[call] is the location of a call. Sets
// on_path[stretch] if a stretch is on the path. Returns how often the path changes its location, at most
// `most` times: inexact clocks can produce circles of causes, which end there.
HALOSCOPE_PUBLIC Index haloscope_critical_path(const Stretches *stretches, const Index *cause,
                                               const std::int32_t *location, std::int32_t last, Index most,
                                               std::uint8_t *on_path) {
  Index changes = 0;
  std::int32_t here = last;
  Index stretch = stretches->first[here + 1] - 1;
  while (stretch >= stretches->first[here]) {
    const Index call = stretches->call[stretch];
    if (static_cast<Kind>(stretches->kind[stretch]) == Kind::waiting && cause[call] >= 0 && changes < most) {
      here = location[cause[call]];
      stretch = stretches->before_call[cause[call]] - 1;
      changes++;
      continue;
    }
    on_path[stretch] = 1;
    stretch--;
  }
  return changes;
}

} // namespace haloscope::explain
