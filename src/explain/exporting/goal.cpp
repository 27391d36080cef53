// Writes a trace as GOAL text: for each rank its computations, sends and receives, and their dependencies.
// Called by python/haloscope/explain/export/goal.py.
//
// Each call begins with the computation since the previous call. A blocking call ends with its messages.
// Messages of other calls continue until the call that completes them.
#include <cerrno>
#include <cstdint>
#include <exception>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "explain/exporting/flows.hpp"
#include "explain/exporting/goal_text.hpp"
#include "explain/exporting/rounds.hpp"
#include "explain/exporting/walk.hpp"
#include "explain/public.hpp"

namespace haloscope::exporting {

namespace {

// Facts that are not in the columns. Members of communicator c are [first_members[c], first_members[c + 1]).
// Ranks in a communicator are looked up here by world rank. `waits`: per function, whether its time is MPI's
// and not computation.
struct World {
  int32_t ranks;
  int32_t communicators;
  const int64_t *first_members;
  const int32_t *members;
  const uint8_t *waits;
};

class GoalWriter {
public:
  GoalWriter(const Columns &trace, const World &world, int file, int aside)
      : trace_(trace), world_(world), flows_(trace, aside), text_(file, world.ranks) {
    number_tags();
    number_places();
  }

  int64_t left_out() const { return left_out_; }

  int finish() {
    end_rank();
    open_until(world_.ranks);
    return text_.flush();
  }

  bool begin_location(int64_t l) {
    if (rank_ != trace_.ranks[l]) {
      end_rank();
      open_until(trace_.ranks[l]);
      begin_rank(trace_.ranks[l]);
      text_.first_cpu();
    } else {
      text_.next_cpu();
    }
    anchors_.clear();
    computed_until_ = now_ = 0;
    return good();
  }

  bool end_location() {
    if (now_ > computed_until_) compute(now_);
    pending_.clear();
    return good();
  }

  bool enter_region(int64_t time, int32_t) {
    now_ = time;
    return true;
  }
  bool leave_region(int64_t time, int32_t) {
    now_ = time;
    return true;
  }

  bool enter_call(int64_t time, int64_t, const Work &started) {
    now_ = time;
    if (started.sends.size() + started.receives.size() + started.collectives.size() == 0) return true;
    compute(time);
    const Label begin = text_.label();
    for (const int64_t row : started.receives) receive(row, begin);
    for (const int64_t row : started.sends) send(row, begin);
    for (const int64_t row : started.collectives) collect(row, begin);
    return good();
  }

  bool leave_call(int64_t time, int64_t call, const Work &completed) {
    const int64_t begin = now_; // without calls in between: that of the call
    now_ = time;
    const bool completes =
        completed.sends.size() + completed.receives.size() + completed.collectives.size() > 0;
    if (completes && computed_until_ < begin) compute(begin);
    for (const int64_t row : completed.receives) wait_for(take_label(of_receive_, row));
    for (const int64_t row : completed.sends) wait_for(take_label(of_send_, row));
    for (const int64_t row : completed.collectives) wait_for_collective(row);
    if (completes)
      computed_until_ = time;
    else if (world_.waits[trace_.call_function(call)] != 0)
      computed_until_ += time - begin;
    return good();
  }

private:
  bool good() const { return text_.good(); }

  // Messages in MPI_COMM_WORLD keep their tags. All other messages and collectives get larger numbers.
  void number_tags() {
    const auto look = [&](const Messages &messages, bool only_world) {
      for (int64_t row = 0; row < messages.ends.count; ++row) {
        const bool is_world = messages.communicator[row] == 0;
        if (is_world && only_world) next_tag_ = std::max(next_tag_, int64_t{messages.tag[row]} + 1);
        if (!is_world && !only_world) {
          const auto [place, is_new] =
              tags_.try_emplace(key(messages.communicator[row], messages.tag[row]), next_tag_);
          next_tag_ += is_new ? 1 : 0;
        }
      }
    };
    look(trace_.sends, true);
    look(trace_.sends, false);
  }

  void number_places() {
    for (int32_t c = 0; c < world_.communicators; ++c)
      for (int64_t i = world_.first_members[c]; i < world_.first_members[c + 1]; ++i)
        places_[key(c, world_.members[i])] = static_cast<int32_t>(i - world_.first_members[c]);
  }

  static uint64_t key(int32_t first, int32_t second) {
    return uint64_t{static_cast<uint32_t>(first)} << 32 | static_cast<uint32_t>(second);
  }

  int64_t tag_of(const Messages &messages, int64_t row) const {
    if (messages.communicator[row] == 0) return std::max(messages.tag[row], 0);
    const auto found = tags_.find(key(messages.communicator[row], messages.tag[row]));
    return found == tags_.end() ? 0 : found->second;
  }

  int64_t tag_of_collective(int64_t row) const {
    const int64_t turn = trace_.collectives.number[row] % 1024; // those that overlap are told apart
    return next_tag_ + turn * world_.communicators + trace_.collectives.communicator[row];
  }

  void send(int64_t row, Label begin) {
    if (!flows_.is_received(row)) {
      ++left_out_;
      return;
    }
    of_send_[row] = text_.message("send", trace_.sends.bytes[row], " to ", trace_.sends.partner[row],
                                  tag_of(trace_.sends, row));
    text_.require(text_.label(), begin);
  }

  void receive(int64_t row, Label begin) {
    const int64_t send = flows_.of_receive(row);
    if (send < 0) {
      left_out_ += trace_.receives.ends.completed[row] >= 0 ? 1 : 0;
      return;
    }
    of_receive_[row] = text_.message("recv", trace_.sends.bytes[send], " from ", trace_.receives.partner[row],
                                     tag_of(trace_.receives, row));
    text_.require(text_.label(), begin);
  }

  void collect(int64_t row, Label begin) {
    const Collectives &all = trace_.collectives;
    if (all.operation(row) < 0) return;
    const int32_t c = all.communicator[row];
    const auto place = places_.find(key(c, rank_));
    const auto root = places_.find(key(c, all.root[row]));
    if (place == places_.end()) return;
    const int64_t first = world_.first_members[c];
    const Part part{static_cast<Pattern>(all.operation(row)),
                    static_cast<int32_t>(world_.first_members[c + 1] - first),
                    place->second,
                    root == places_.end() ? -1 : root->second,
                    all.bytes_sent[row],
                    all.bytes_received[row]};
    before_.assign(1, begin);
    round_.clear();
    const int64_t tag = tag_of_collective(row);
    const auto add = [&](const char *what, const char *direction, int32_t peer, int64_t bytes) {
      round_.push_back(text_.message(what, bytes, direction, world_.members[first + peer], tag));
      for (const Label earlier : before_) text_.require(round_.back(), earlier);
    };
    each_round(
        part, [&](int32_t peer, int64_t bytes) { add("send", " to ", peer, bytes); },
        [&](int32_t peer, int64_t bytes) { add("recv", " from ", peer, bytes); },
        [&] {
          if (!round_.empty()) before_.swap(round_);
          round_.clear();
        });
    pending_[row] = before_;
  }

  static Label take_label(std::unordered_map<int64_t, Label> &labels, int64_t row) {
    const auto found = labels.extract(row);
    return found.empty() ? 0 : found.mapped();
  }

  void wait_for(Label label) {
    if (text_.is_of_rank(label)) anchors_.push_back(label); // else of another rank: a trace that is not right
  }

  void wait_for_collective(int64_t row) {
    const auto found = pending_.find(row);
    if (found == pending_.end()) return;
    anchors_.insert(anchors_.end(), found->second.begin(), found->second.end());
    pending_.erase(found);
  }

  // Adds computation from the last computed time to `time`, after all anchors.
  void compute(int64_t time) {
    text_.compute(std::max<int64_t>(time - computed_until_, 0));
    for (const Label anchor : anchors_) text_.require(text_.label(), anchor);
    anchors_.assign(1, text_.label());
    computed_until_ = time;
  }

  void begin_rank(int32_t rank) {
    rank_ = rank;
    text_.begin_rank(rank);
  }

  void end_rank() {
    if (rank_ < 0) return;
    if (!text_.is_of_rank(text_.label()))
      compute(computed_until_); // a rank without anything is an error to some readers
    text_.end_rank();
    next_rank_ = rank_ + 1;
    rank_ = -1;
  }

  // Ranks that left nothing are there, too: readers count them.
  void open_until(int32_t rank) {
    while (next_rank_ < rank) {
      begin_rank(next_rank_);
      anchors_.clear();
      end_rank();
    }
  }

  const Columns &trace_;
  const World &world_;
  Flows flows_;
  GoalText text_;
  std::unordered_map<int64_t, Label> of_send_, of_receive_; // that are under way
  std::unordered_map<uint64_t, int64_t> tags_;
  std::unordered_map<uint64_t, int32_t> places_;
  std::unordered_map<int64_t, std::vector<Label>> pending_; // collectives: what has to be over
  std::vector<Label> anchors_, before_, round_;
  int64_t next_tag_ = 0, left_out_ = 0, now_ = 0, computed_until_ = 0;
  int32_t rank_ = -1, next_rank_ = 0;
};

} // namespace
} // namespace haloscope::exporting

// Returns 0, or errno of what went wrong. `left_out` gets the number of sends and receives without the other
// one; `aside` is an empty file.
HALOSCOPE_PUBLIC int haloscope_goal(const haloscope::exporting::Columns *trace,
                                    const haloscope::exporting::World *world, int file, int aside,
                                    int64_t *left_out) {
  try {
    haloscope::exporting::GoalWriter writer(*trace, *world, file, aside);
    haloscope::exporting::Walk(*trace, writer).run();
    *left_out = writer.left_out();
    return writer.finish();
  } catch (const std::system_error &error) {
    return error.code().value();
  } catch (const std::exception &) {
    return ENOMEM;
  }
}
