// One application of an operator: Algorithm 2 of the paper, with the second exchange's receives posted first.
//
// The budget of a run, beside MPI's calls and the work: six readings of the clock (about 25 ns each), the
// arithmetic of one update of α (under 50 ns; with regimes some 100 ns a regime), and for each poll one
// MPI_Testall, with two readings for ADAPTIVE. No allocation, no lock, no system call but the clock's.
#include "hide/overlap/overlap.hpp"

#include <haloscope/region.h>

#include <ctime>

namespace haloscope::overlap {

namespace {

double seconds() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// MPI's errors end a run; the first one is kept.
class Run {
public:
  Run(const haloscope_overlap &overlap, Phase &phase, const haloscope_overlap_pattern &pattern)
      : overlap_(&overlap), phase_(&phase), pattern_(&pattern),
        polls_(overlap.settings.policy == HALOSCOPE_OVERLAP_TEST ||
               overlap.settings.policy == HALOSCOPE_OVERLAP_ADAPTIVE),
        measures_(overlap.settings.policy == HALOSCOPE_OVERLAP_ADAPTIVE) {}

  int operator()(haloscope_overlap_times &times) {
    const bool consistent = overlap_->settings.consistent != 0, early = overlap_->settings.early_sends != 0;
    const auto &input = pattern_->input, &output = pattern_->output;
    // Consistent input: dependent items first, contributions are gathered, then results are scattered.
    const auto &first = consistent ? output : input, &second = consistent ? input : output;
    start(first, false);
    start(second, false);
    if (consistent) dependent(early, output);
    at(consistent ? HALOSCOPE_OVERLAP_PACK_OUTPUT : HALOSCOPE_OVERLAP_PACK_INPUT);
    if (!consistent || !early) start(first, true);
    const std::size_t items = overlap_->items;
    const std::size_t begin = polls_ ? 0 : split(items, phase_->alpha());
    std::size_t done = 0;
    auto &first_wait = consistent ? times.output_wait : times.input_wait;
    auto &second_wait = consistent ? times.input_wait : times.output_wait;
    (consistent ? times.output_block : times.input_block) =
        part(first, done, begin, polls_, true, first_wait);
    const std::size_t before = done;
    at(consistent ? HALOSCOPE_OVERLAP_UNPACK_OUTPUT : HALOSCOPE_OVERLAP_UNPACK_INPUT);
    if (!consistent) dependent(early, output);
    at(consistent ? HALOSCOPE_OVERLAP_PACK_INPUT : HALOSCOPE_OVERLAP_PACK_OUTPUT);
    if (consistent || !early) start(second, true);
    (consistent ? times.input_block : times.output_block) =
        part(second, done, items, polls_, false, second_wait);
    at(consistent ? HALOSCOPE_OVERLAP_UNPACK_INPUT : HALOSCOPE_OVERLAP_UNPACK_OUTPUT);
    finish(first.sends, first.send_count);
    finish(second.sends, second.send_count);
    times.alpha = polls_ ? share(before, items) : phase_->alpha();
    times.polls = poll_count_;
    return error_;
  }

private:
  static double share(std::size_t part, std::size_t whole) noexcept {
    return whole == 0 ? 0.5 : static_cast<double>(part) / static_cast<double>(whole);
  }
  void note(int error) noexcept {
    if (error_ == MPI_SUCCESS) error_ = error;
  }
  void at(haloscope_overlap_stage stage) const {
    if (pattern_->stage != nullptr) pattern_->stage(pattern_->context, stage);
  }
  void start(const haloscope_overlap_exchange &exchange, bool sends) {
    const int count = sends ? exchange.send_count : exchange.receive_count;
    if (exchange.start != nullptr)
      note(exchange.start(pattern_->context, sends ? 1 : 0));
    else if (count > 0) // Open MPI refuses no requests where the array is NULL
      note(MPI_Startall(count, sends ? exchange.sends : exchange.receives));
  }
  void finish(MPI_Request *requests, int count) { note(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)); }
  void dependent(bool early, const haloscope_overlap_exchange &output) {
    if (early) start(output, true);
    pattern_->dependent(pattern_->context);
  }

  bool poll(const haloscope_overlap_exchange &exchange) {
    const double before = measures_ ? seconds() : 0;
    int there = 0;
    note(MPI_Testall(exchange.receive_count, exchange.receives, &there, MPI_STATUSES_IGNORE));
    poll_count_++;
    if (measures_) phase_->polled(seconds() - before);
    return there != 0;
  }

  // Items from `done` to `end`, then the waiting. With polls, `leaves` at once when the exchange is over, and
  // takes any number of items until then.
  double part(const haloscope_overlap_exchange &exchange, std::size_t &done, std::size_t end, bool polls,
              bool leaves, double &waited) {
    const double begin = seconds();
    bool there = false;
    if (polls) {
      const std::size_t from = done;
      there = chunks(exchange, done, overlap_->items, leaves);
      if (measures_) phase_->worked(done - from, seconds() - begin);
    } else if (end > done) {
      pattern_->independent(pattern_->context, done, end);
      done = end;
    }
    const double worked = seconds();
    if (!there) finish(exchange.receives, exchange.receive_count);
    const double ended = seconds();
    waited = ended - worked;
    return ended - begin;
  }

  bool chunks(const haloscope_overlap_exchange &exchange, std::size_t &done, std::size_t end, bool leaves) {
    const std::size_t chunk = phase_->chunk();
    bool there = poll(exchange);
    while (done < end && !(there && leaves)) {
      // Nothing to look for any more: the rest in one go.
      const std::size_t stop = there ? end : std::min(end, done + chunk);
      pattern_->independent(pattern_->context, done, stop);
      done = stop;
      if (!there && done < end) there = poll(exchange);
    }
    return there;
  }

  const haloscope_overlap *overlap_;
  Phase *phase_;
  const haloscope_overlap_pattern *pattern_;
  bool polls_, measures_;
  std::size_t poll_count_ = 0;
  int error_ = MPI_SUCCESS;
};

// Into the series of a profile, when the program is watched.
void record(const haloscope_overlap_times &times) {
  HALOSCOPE_VALUE("alpha", times.alpha);
  HALOSCOPE_VALUE("input_wait", times.input_wait);
  HALOSCOPE_VALUE("output_wait", times.output_wait);
  HALOSCOPE_VALUE("input_block", times.input_block);
  HALOSCOPE_VALUE("output_block", times.output_block);
}

} // namespace

int run(haloscope_overlap &overlap, Phase &phase, const haloscope_overlap_pattern &pattern,
        haloscope_overlap_times &times) {
  const char *region = overlap.settings.region;
  if (region != nullptr) HALOSCOPE_REGION_BEGIN(region);
  const int result = Run{overlap, phase, pattern}(times);
  record(times);
  if (region != nullptr) HALOSCOPE_REGION_END(region);
  if (result == MPI_SUCCESS) phase.learn(times);
  return result;
}

} // namespace haloscope::overlap
