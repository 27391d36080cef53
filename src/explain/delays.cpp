// Delay costs: the stretches of locations that caused waiting, after Boehme, Geimer, Wolf and Arnold (2010).
#include "explain/public.hpp"
#include "explain/timelines.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace haloscope::explain {
namespace {

// Calls that waited, in descending order of the end of waiting. Between the last synchronisation of both
// locations and the waiting, the waiting location went through the stretches here[2 i] to here[2 i + 1]. The
// late location went through there[2 i] to there[2 i + 1].
struct Waiting {
  const Index *call, *here, *there;
  const std::int32_t *late, *path; // location that is waited for; path of the call that it comes late to
  Index count;
};

class Sharing {
public:
  Sharing(const Stretches &stretches, const Waiting &waiting, Index calls, std::int32_t paths, double *direct,
          double *indirect)
      : stretches_(stretches), waiting_(waiting), paths_(paths), direct_(direct), indirect_(indirect),
        received_(index(calls)), is_done_(index(calls)), excess_(2 * index(paths)),
        is_touched_(excess_.size()) {}

  void run() {
    for (Index i = 0; i < waiting_.count; i++) share(i);
  }

private:
  // The cost of a waiting: its own time, and the time passed on by others that waited because of it.
  struct Cost {
    double own, received;
    std::int32_t late;
  };

  static std::size_t index(Index i) noexcept { return static_cast<std::size_t>(i); }
  bool is_waiting(Index stretch) const noexcept {
    return static_cast<Kind>(stretches_.kind[stretch]) == Kind::waiting;
  }
  double length(Index stretch) const noexcept {
    return static_cast<double>(stretches_.to[stretch] - stretches_.from[stretch]);
  }

  void share(Index i) {
    const Index call = waiting_.call[i], *there = waiting_.there + 2 * i;
    is_done_[index(call)] = 1;
    const Cost cost{length(stretches_.before_call[call]), received_[index(call)], waiting_.late[i]};
    const double waited = measure(there, 1) + measure(waiting_.here + 2 * i, -1);
    const double waited_more = std::max(0.0, waited);
    double all = waited_more;
    for (const std::size_t key : touched_) all += std::max(0.0, excess_[key]);
    if (all > 0) {
      for (const std::size_t key : touched_)
        if (excess_[key] > 0) charge(cost, static_cast<std::int32_t>(key / 2), excess_[key] / all);
      if (waited_more > 0) pass_on(cost, there, waited_more / all);
    } else {
      // It came late though it did nothing for longer.
      charge(cost, waiting_.path[i], 1);
    }
    for (const std::size_t key : touched_) {
      excess_[key] = 0;
      is_touched_[key] = 0;
    }
    touched_.clear();
  }

  // Adds the times of all stretches between two. Returns the waiting among them.
  double measure(const Index *range, int sign) {
    double waited = 0;
    for (Index stretch = range[0]; stretch < range[1]; stretch++) {
      const double time = sign * length(stretch);
      if (is_waiting(stretch)) {
        waited += time;
        continue;
      }
      const bool is_in_call = static_cast<Kind>(stretches_.kind[stretch]) == Kind::in_call;
      const std::size_t key = 2 * index(stretches_.path[stretch]) + (is_in_call ? 1 : 0);
      if (is_touched_[key] == 0) touched_.push_back(key);
      is_touched_[key] = 1;
      excess_[key] += time;
    }
    return waited;
  }

  void charge(const Cost &cost, std::int32_t path, double part) noexcept {
    const std::size_t place = index(cost.late) * index(paths_) + index(path);
    direct_[place] += cost.own * part;
    indirect_[place] += cost.received * part;
  }

  void pass_on(const Cost &cost, const Index *there, double part) noexcept {
    double waited = 0;
    for (Index stretch = there[0]; stretch < there[1]; stretch++)
      if (is_waiting(stretch)) waited += length(stretch);
    for (Index stretch = there[0]; stretch < there[1]; stretch++) {
      if (!is_waiting(stretch)) continue;
      const double share = (cost.own + cost.received) * part * length(stretch) / waited;
      const Index earlier = stretches_.call[stretch];
      if (is_done_[index(earlier)] == 0) {
        received_[index(earlier)] += share;
      } else { // only where clocks make a circle of causes
        indirect_[index(cost.late) * index(paths_) + index(stretches_.path[stretch])] += share;
      }
    }
  }

  const Stretches &stretches_;
  const Waiting &waiting_;
  std::int32_t paths_;
  double *direct_, *indirect_;
  std::vector<double> received_; // by call
  std::vector<char> is_done_;
  std::vector<double> excess_; // by path, outside and inside of calls
  std::vector<char> is_touched_;
  std::vector<std::size_t> touched_;
};

} // namespace

// Adds to `direct` and `indirect`, (locations, paths), the nanoseconds of waiting that each caused. `direct`
// is the waiting of locations that waited for it, `indirect` the waiting of locations that waited for those.
// Returns 0, or 1 if there is not enough memory.
HALOSCOPE_PUBLIC int haloscope_delays(const Stretches *stretches, const Waiting *waiting, Index calls,
                                      std::int32_t paths, double *direct, double *indirect) {
  try {
    Sharing(*stretches, *waiting, calls, paths, direct, indirect).run();
    return 0;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}

} // namespace haloscope::explain
