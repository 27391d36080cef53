#include "watch/collecting/collect.hpp"

#include "watch/collecting/call_rows.hpp"
#include "watch/collecting/history_rows.hpp"
#include "watch/collecting/message_rows.hpp"
#include "watch/collecting/region_rows.hpp"
#include "watch/collecting/rows.hpp"
#include "watch/collecting/site_rows.hpp"
#include "watch/collecting/trace_rows.hpp"
#include "watch/counting/slices.hpp"
#include "watch/records/open_call.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace haloscope::watch {

namespace {

// Visits each region of each thread once. Makers of rows add their part of it.
class Collection : RowWriter {
public:
  Collection(const Arena &arena, const ProcessRecord &process, double tick, std::uint64_t end,
             const std::string &spool, Contents &contents)
      : RowWriter(arena, process, tick, contents), end_(end), regions_(arena, process, tick, contents),
        messages_(arena, process, tick, contents), calls_(arena, process, tick, contents),
        history_(arena, process, tick, contents), sites_(arena, contents, tick),
        trace_(arena, process, contents, spool) {
    contents.names.path(-1, root_name, false); // the root has the first number
  }

  void run() {
    const ThreadRecord *const first = valid(process().threads.load());
    const ThreadRecord *main = first; // came first, so it is the last of the list
    while (main != nullptr && valid(main->next) != nullptr) main = valid(main->next);
    if (main != nullptr) visit(*main);
    if (main != first) regions_.add_main_thread();
    for (const ThreadRecord *thread = first; thread != main; thread = valid(thread->next)) visit(*thread);
    add_metadata();
    regions_.finish();
    add_process_row();
    sites_.finish();
    trace_.finish(tick());
  }

private:
  void visit(const ThreadRecord &thread) {
    sums_ = {};
    find_open_call(thread);
    if (const Node *root = valid(thread.root)) visit(*root, nullptr);
    history_.add_slices(thread, sums_, latest_);
    history_.add_phases(thread);
    for (const CommunicatorUse *use = valid(thread.communicators); use != nullptr; use = valid(use->next))
      messages_.add(*use);
    begins_ += thread.unmatched_begins;
    ends_ += thread.unmatched_ends;
    records_++;
    threads_ += thread.threads;
  }

  void visit(const Node &node, RegionTotals *parent, unsigned depth = 0) {
    if (depth > deepest_region) return;
    const std::int64_t above = parent == nullptr ? -1 : static_cast<std::int64_t>(parent->path);
    const std::string_view name = parent == nullptr ? root_name : text(node.name);
    RegionTotals &region = regions_.add(path(above, name, node.communication), node, parent, latest_);
    watch::add(sums_, node);
    const SettledTimes times = add_estimate(node, region);
    if (open_ && open_.node == &node) add_open_call(region);
    calls_.add(region.path, node, times);
    messages_.add(region, node, times);
    history_.add_series(region, node, records_);
    sites_.add(region.path, node, times);
    trace_.add(region.path, node);
    for (const Node *child = valid(node.first_child); child != nullptr && child->parent == &node;
         child = valid(child->next_sibling))
      visit(*child, &region, depth + 1);
  }

  // Adds the time of calls that were not stamped, as far as the region had time for them.
  SettledTimes add_estimate(const Node &node, RegionTotals &region) {
    const auto [estimate, more] = settle(node, latest_);
    add_settled(region, more);
    add_settled(sums_, more);
    const auto counted = static_cast<double>(node.p2p_ticks + more[0]);
    const auto left = static_cast<double>(estimate.left(0));
    return {.calls = {estimate.share(0), estimate.share(1)},
            .messages = left == 0 ? 1 : counted / (counted + left)};
  }

  // Finds the call that the thread has not returned from, and the latest known tick of the thread.
  void find_open_call(const ThreadRecord &thread) {
    const Recorder *recorder = valid(thread.recorder);
    // In MPI_Finalize a rank has ended its regions before it is marked so.
    const Node *root = valid(thread.root);
    const bool is_recording = root != nullptr && root->begin != 0;
    const bool may_be_open = end_ != 0 && !process().finalized && recorder != nullptr && is_recording;
    open_ = may_be_open ? open_call(*recorder, thread) : OpenCall{};
    latest_ = std::max(latest_tick(thread), open_ ? end_ : 0);
  }
  void add_open_call(RegionTotals &region) {
    const std::uint64_t lasted = open_.lasted(latest_);
    calls_.add(region.path, open_, lasted);
    add_time(region, open_, lasted);
    add_time(sums_, open_, lasted);
    open_calls_++;
  }

  void add_process_row() {
    const std::uint64_t *root = regions_.duration();
    // Of a rank that does not record, only the begin and the end are known.
    const std::uint64_t duration = root != nullptr       ? *root
                                   : process().finalized ? process().last.tick - process().first.tick
                                                         : 0;
    append(rows::Processes{.rank = rank(),
                           .host = string(text(process().host.data())),
                           .pid = process().pid,
                           .start = process().start,
                           .duration = seconds(duration),
                           .threads = threads_,
                           .unmatched_begins = begins_,
                           .unmatched_ends = ends_,
                           .dropped = process().dropped.load(),
                           .finalized = static_cast<bool>(process().finalized),
                           .sizes_spilled = regions_.sizes_spilled(),
                           .watched = static_cast<bool>(process().watched),
                           .tick = tick(),
                           .cpus = string(text(process().cpus.data())),
                           .numa_nodes = string(text(process().numa_nodes.data())),
                           .sockets = string(text(process().sockets.data())),
                           .open_calls = open_calls_,
                           .cpu_time = 1e-9 * static_cast<double>(process().use.cpu),
                           .preemptions = process().use.preemptions,
                           .memory_max = process().memory_max,
                           .program = string(text(process().program.data())),
                           .openmp = string(text(process().openmp.data()))});
  }

  // The latest record comes first: it is the value of its key.
  void add_metadata() {
    constexpr const char *kinds[] = {"user", "environment", "job"};
    std::set<std::pair<MetadataKind, std::string_view>> keys;
    for (const MetadataRecord *record = valid(process().metadata.load()); record != nullptr;
         record = valid(record->next)) {
      const auto kind = std::min(static_cast<std::size_t>(record->kind), std::size(kinds) - 1);
      if (keys.insert({record->kind, text(record->key)}).second)
        append(rows::Metadata{.kind = string(kinds[kind]),
                              .key = string(text(record->key)),
                              .value = string(text(record->value)),
                              .ranks = 1,
                              .first = process().rank == 0});
    }
  }

  std::uint64_t end_;
  std::uint64_t begins_ = 0, ends_ = 0, records_ = 0, threads_ = 0, open_calls_ = 0;
  RegionRows regions_;
  MessageRows messages_;
  CallRows calls_;
  HistoryRows history_;
  SiteRows sites_;
  TraceRows trace_;
  // Of the thread that is being visited:
  OpenCall open_{};
  std::uint64_t latest_ = 0; // its latest known tick
  Slice sums_{};             // over its regions
};

} // namespace

Contents collect(const Arena &arena, const ProcessRecord &process, double tick, std::uint64_t end,
                 const std::string &spool) {
  Contents contents;
  Collection{arena, process, tick, end, spool, contents}.run();
  contents.compact();
  return contents;
}

} // namespace haloscope::watch
