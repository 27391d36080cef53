// Schedules of messages, executed on a machine whose ranks have one port in and one port out each.
#include "explain/public.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace haloscope::explain {
namespace {

// Messages in an order in which they can be executed; every port, link and processor serves them in
// this order. Where source and target are one, it is work of that rank, and no message.
struct Schedule {
  const std::int32_t *source, *target;
  // The step of its program in which a rank sends or receives: it begins when all of the last one is done.
  const std::int32_t *source_step, *target_step;
  const std::uint8_t *meets;               // begins only when the target has come to its step, too
  const double *occupied, *latency, *work; // seconds: of both ports, after that, and of the target then
  const std::int32_t *way_out, *way_in;    // links that messages share, or -1
  const double *shared;                    // seconds for which they occupy both links
  std::int64_t messages;
  std::int32_t ranks, links;
};

// The cause of a late moment: none (-1), the send of message i (2 i) or its arrival (2 i + 1).
using Cause = std::int64_t;
struct Moment {
  double at = 0;
  Cause cause = -1;
};

Moment later(const Moment &one, const Moment &other) noexcept { return other.at > one.at ? other : one; }

struct Rank {
  Moment ready;   // when all steps before this one are done
  Moment pending; // when all of this one is
  Moment out, in, processor;
  std::int32_t step = 0;

  void come_to(std::int32_t wanted) noexcept {
    if (wanted <= step) return;
    step = wanted;
    ready = pending = later(ready, pending);
  }
};

class Execution {
public:
  explicit Execution(const Schedule &schedule)
      : schedule_(schedule), ranks_(static_cast<std::size_t>(schedule.ranks)),
        links_(2 * static_cast<std::size_t>(schedule.links)),
        causes_(2 * static_cast<std::size_t>(schedule.messages)) {}

  void run() noexcept {
    for (std::int64_t i = 0; i < schedule_.messages; i++) {
      if (schedule_.source[i] == schedule_.target[i]) {
        Rank &rank = rank_of(schedule_.source[i]);
        rank.come_to(schedule_.source_step[i]);
        work(i, rank, rank.ready);
      } else {
        message(i);
      }
    }
  }

  [[nodiscard]] Moment end(std::int32_t rank) noexcept {
    return later(rank_of(rank).ready, rank_of(rank).pending);
  }

  // How many times each duration of a message counts in the mean of all ranks' ends.
  void weigh(double *occupied, double *latency, double *work, double *shared) {
    std::vector<double> weights(causes_.size());
    const double each = 1.0 / schedule_.ranks;
    for (std::int32_t rank = 0; rank < schedule_.ranks; rank++) pass(weights, end(rank).cause, each);
    for (std::int64_t i = schedule_.messages - 1; i >= 0; i--) {
      const auto at = static_cast<std::size_t>(i);
      const double had = weights[2 * at + 1];
      work[i] = had;
      pass(weights, causes_[2 * at + 1], had);
      latency[i] = causes_[2 * at + 1] == 2 * i ? had : 0;
      const bool by_link = schedule_.shared[i] > schedule_.occupied[i];
      (by_link ? shared : occupied)[i] = weights[2 * at];
      (by_link ? occupied : shared)[i] = 0;
      pass(weights, causes_[2 * at], weights[2 * at]);
    }
  }

private:
  Rank &rank_of(std::int32_t rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  Moment *link(const std::int32_t *ways, std::int64_t i, int direction) noexcept {
    return ways[i] < 0 ? nullptr : &links_[2 * static_cast<std::size_t>(ways[i]) + direction];
  }
  static void pass(std::vector<double> &weights, Cause cause, double weight) noexcept {
    if (cause >= 0) weights[static_cast<std::size_t>(cause)] += weight;
  }

  void message(std::int64_t i) noexcept {
    Rank &source = rank_of(schedule_.source[i]), &target = rank_of(schedule_.target[i]);
    source.come_to(schedule_.source_step[i]);
    target.come_to(schedule_.target_step[i]);
    Moment *out = link(schedule_.way_out, i, 0), *in = link(schedule_.way_in, i, 1);
    Moment start = later(later(source.ready, source.out), target.in);
    if (schedule_.meets[i] != 0) start = later(start, target.ready);
    if (out != nullptr) start = later(start, *out);
    if (in != nullptr) start = later(start, *in);
    causes_[2 * static_cast<std::size_t>(i)] = start.cause;
    const Moment sent{start.at + std::max(schedule_.occupied[i], schedule_.shared[i]), 2 * i};
    const Moment passed{start.at + schedule_.shared[i], 2 * i};
    if (out != nullptr) *out = passed;
    if (in != nullptr) *in = passed;
    source.out = target.in = sent;
    source.pending = later(source.pending, sent);
    work(i, target, {sent.at + schedule_.latency[i], 2 * i});
  }

  void work(std::int64_t i, Rank &rank, Moment ready) noexcept {
    const bool works = schedule_.work[i] > 0;
    // A rank that waits for the completion of its send does no work meanwhile.
    const Moment start = works ? later(later(ready, rank.processor), rank.ready) : ready;
    causes_[2 * static_cast<std::size_t>(i) + 1] = start.cause;
    const Moment had{start.at + schedule_.work[i], 2 * i + 1};
    if (works) rank.processor = had;
    rank.pending = later(rank.pending, had);
  }

  const Schedule &schedule_;
  std::vector<Rank> ranks_;
  std::vector<Moment> links_;
  std::vector<Cause> causes_;
};

} // namespace

// Puts the end of every rank into `ends` and, if `occupied` is not null, the weights of all durations
// into the others. Returns 0, or 1 if there is not enough memory.
HALOSCOPE_PUBLIC int haloscope_schedule(const Schedule *schedule, double *ends, double *occupied,
                                        double *latency, double *work, double *shared) {
  try {
    Execution execution(*schedule);
    execution.run();
    for (std::int32_t rank = 0; rank < schedule->ranks; rank++) ends[rank] = execution.end(rank).at;
    if (occupied != nullptr) execution.weigh(occupied, latency, work, shared);
    return 0;
  } catch (const std::bad_alloc &) {
    return 1;
  }
}

} // namespace haloscope::explain
