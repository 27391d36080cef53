// One application of an operator: Algorithm 2 of Heldman, Rudi and Bessac (ICS 2025), with the second
// exchange's receives posted first; and the C interface.
//
// Budget of a run, in addition to MPI's calls and the work: six readings of the clock (about 25 ns each), and
// one update of α (under 50 ns; with regimes about 100 ns per regime). Each poll adds one MPI_Testall, and
// two readings of the clock for ADAPTIVE. There is no allocation, no lock, and no system call except the
// clock's.
#include "hide/overlap/overlap.hpp"

#include <haloscope/region.h>

#include <cmath>
#include <ctime>
#include <new>
#include <string>

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
        measures_(overlap.settings.policy == HALOSCOPE_OVERLAP_ADAPTIVE),
        attributes_(overlap.settings.partners != 0) {}

  int operator()(haloscope_overlap_times &times) {
    const bool consistent = overlap_->settings.consistent != 0, early = overlap_->settings.early_sends != 0;
    const auto &input = pattern_->input, &output = pattern_->output;
    // Consistent input: dependent items first, contributions are gathered, then results are scattered.
    const auto &first = consistent ? output : input, &second = consistent ? input : output;
    if (attributes_) phase_->expect(second.receive_count);
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
    if (attributes_) times.partner_wait = phase_->partner_wait();
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
    if (measures_ && there == 0) phase_->polled(seconds() - before);
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
    if (attributes_ && !leaves)
      finish_each(exchange, worked);
    else if (!there)
      finish(exchange.receives, exchange.receive_count);
    const double ended = seconds();
    waited = ended - worked;
    return ended - begin;
  }

  // Completes the receives in the order of arrival, to know the waiting for each.
  void finish_each(const haloscope_overlap_exchange &exchange, double worked) {
    phase_->not_waited();
    for (int done = 0; done != MPI_UNDEFINED && error_ == MPI_SUCCESS;) {
      const auto completed = phase_->completed();
      note(MPI_Waitsome(exchange.receive_count, exchange.receives, &done, completed.data(),
                        MPI_STATUSES_IGNORE));
      const double waited = seconds() - worked;
      for (int i = 0; i < done; i++) phase_->waited(completed[static_cast<std::size_t>(i)], waited);
    }
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
  bool polls_, measures_, attributes_;
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

namespace {

using haloscope::overlap::Phase;

thread_local std::string error_text; // NOLINT: a line a thread

haloscope_overlap *make(const haloscope_overlap_settings &settings, std::size_t items) {
  auto *overlap = new haloscope_overlap{settings, items, {}};
  overlap->phases.reserve(static_cast<std::size_t>(settings.phases));
  for (int i = 0; i < settings.phases; i++) overlap->phases.emplace_back(overlap->settings, items);
  overlap->settings.regimes = nullptr; // copied
  return overlap;
}

const Phase *phase_of(const haloscope_overlap *overlap, int phase) {
  if (phase >= 0 && static_cast<std::size_t>(phase) < overlap->phases.size())
    return &overlap->phases[static_cast<std::size_t>(phase)];
  error_text =
      "overlap: there is no phase " + std::to_string(phase) + " of " + std::to_string(overlap->phases.size());
  return nullptr;
}

} // namespace

extern "C" {

haloscope_overlap_settings haloscope_overlap_defaults() {
  return {HALOSCOPE_OVERLAP_FIXED, 0.5, 0.5, 1e-4, 4, 0, 0.005, 1, 0, 0, 0, nullptr, nullptr};
}

int haloscope_overlap_create(const haloscope_overlap_settings *settings, size_t items, MPI_Comm comm,
                             haloscope_overlap **made) {
  *made = nullptr;
  try {
    error_text = haloscope::overlap::wrong(*settings);
    int mine = error_text.empty() ? 1 : 0, all = 0;
    const int result = MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    if (result != MPI_SUCCESS) return result;
    if (all == 0) {
      if (mine != 0) error_text = "overlap: the settings of a different rank are wrong";
      return MPI_ERR_ARG;
    }
    *made = make(*settings, items);
  } catch (const std::bad_alloc &) {
    return MPI_ERR_NO_MEM;
  }
  return MPI_SUCCESS;
}

void haloscope_overlap_free(haloscope_overlap *overlap) { delete overlap; }

const char *haloscope_overlap_error() { return error_text.c_str(); }

int haloscope_overlap_run(haloscope_overlap *overlap, int phase, const haloscope_overlap_pattern *pattern,
                          haloscope_overlap_times *times) {
  if (phase_of(overlap, phase) == nullptr) return MPI_ERR_ARG;
  haloscope_overlap_times own{};
  int result = MPI_SUCCESS;
  try {
    result =
        haloscope::overlap::run(*overlap, overlap->phases[static_cast<std::size_t>(phase)], *pattern, own);
  } catch (const std::bad_alloc &) { // before any message
    result = MPI_ERR_NO_MEM;
  }
  if (result != MPI_SUCCESS) error_text = "overlap: MPI failed with code " + std::to_string(result);
  if (times != nullptr) *times = own;
  return result;
}

double haloscope_overlap_waited(const haloscope_overlap *overlap, int phase, int receive) {
  const Phase *found = phase_of(overlap, phase);
  return found == nullptr ? 0 : found->waited(receive);
}

void haloscope_overlap_partner_waited(haloscope_overlap *overlap, int phase, double seconds) {
  if (phase_of(overlap, phase) != nullptr)
    overlap->phases[static_cast<std::size_t>(phase)].partner_waited(seconds);
}

double haloscope_overlap_alpha(const haloscope_overlap *overlap, int phase) {
  const Phase *found = phase_of(overlap, phase);
  return found == nullptr ? NAN : found->alpha();
}

void haloscope_overlap_learn(haloscope_overlap *overlap, int phase, const haloscope_overlap_times *times) {
  if (phase_of(overlap, phase) != nullptr) overlap->phases[static_cast<std::size_t>(phase)].learn(*times);
}

size_t haloscope_overlap_split(size_t items, double alpha) { return haloscope::overlap::split(items, alpha); }

double haloscope_overlap_next_alpha(const haloscope_overlap_settings *settings, size_t items, double alpha,
                                    double input_wait, double output_wait) {
  const haloscope::overlap::Update update{settings->theta, settings->epsilon, settings->largest_step};
  return update(alpha, items, input_wait, output_wait);
}

size_t haloscope_overlap_chunk(size_t items, double budget, double poll_seconds, double item_seconds) {
  return haloscope::overlap::chunk(items, budget, poll_seconds, item_seconds);
}
}
