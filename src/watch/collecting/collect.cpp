#include "watch/collecting/collect.hpp"

#include "watch/collecting/rows.hpp"
#include "watch/collecting/site_rows.hpp"
#include "watch/collecting/trace_rows.hpp"
#include "watch/counting/slices.hpp"
#include "watch/records/open_call.hpp"
#include "watch/records/reading.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>

namespace haloscope::watch {

namespace {

// One region path of a process: the nodes of all its threads.
// NOLINTNEXTLINE(misc-multiple-inheritance): the sums that are declared, and others
struct Region : CountedOften, CountedRarely {
  Region *parent = nullptr;
  std::uint64_t path = 0;
  std::uint64_t begun = 0, instances = 0, ticks = 0;
  std::uint64_t skew = 0, largest = 0;
  Quantities totals{};
  Extremes inclusive{}, exclusive{};
  std::set<std::int64_t> destinations, sources;               // exclusive
  std::set<std::int64_t> nested_destinations, nested_sources; // inclusive
};

void widen(Extremes &to, const Extremes &by, bool first) {
  for (unsigned q = 0; q < quantities; q++) {
    to.least[q] = first ? by.least[q] : std::min(to.least[q], by.least[q]);
    to.most[q] = first ? by.most[q] : std::max(to.most[q], by.most[q]);
  }
}

class Collection : Reading {
public:
  Collection(const Arena &arena, const ProcessRecord &process, double tick, std::uint64_t end,
             const std::string &spool)
      : Reading(arena), process_(process), tick_(tick), end_(end), sites_(arena, contents_, tick),
        trace_(arena, process, contents_, spool) {}

  Contents run() {
    std::uint64_t begins = 0;
    std::uint64_t ends = 0;
    contents_.names.path(-1, root_name, false);
    for (const ThreadRecord *thread = valid(process_.threads.load()); thread != nullptr;
         thread = valid(thread->next)) {
      begins += thread->unmatched_begins;
      ends += thread->unmatched_ends;
      done_ = {};
      look_at_call(*thread);
      if (const Node *root = valid(thread->root)) visit(*root, nullptr, *thread);
      add_slices(*thread);
      add_phases(*thread);
      for (const CommunicatorUse *use = valid(thread->communicators); use != nullptr; use = valid(use->next))
        add_communicator(*use);
      threads_++;
    }
    add_metadata();
    for (auto &[path, region] : regions_) spread_partners(region);
    for (auto &[path, region] : regions_) add_rank_row(region);
    add_process_row(begins, ends);
    sites_.finish();
    trace_.finish(tick_);
    contents_.compact();
    return std::move(contents_);
  }

private:
  double seconds(std::uint64_t ticks) const { return static_cast<double>(ticks) * tick_; }
  std::int32_t rank() const { return process_.rank; }
  Text string(std::string_view value) { return contents_.names.text(value); }
  template <class Row> void add(const Row &row) { contents_.append(row); }

  Text memory(Memory of) { return string(name_of(of)); }
  // Of a call: only one that names a buffer has it.
  Text memory(unsigned function, Memory of) {
    return string(function_has_buffer[function] ? name_of(of) : "");
  }

  void visit(const Node &node, Region *parent, const ThreadRecord &thread, unsigned depth = 0) {
    if (depth > deepest_region) return;
    const std::int64_t above = parent == nullptr ? -1 : static_cast<std::int64_t>(parent->path);
    const std::uint64_t path =
        contents_.names.path(above, parent == nullptr ? root_name : text(node.name), node.communication);
    Region &region = regions_[path];
    region.parent = parent;
    region.path = path;
    add_totals(region, node);
    haloscope::watch::add(done_, node);
    if (open_ && open_.node == &node) add_open_call(region);
    add_calls(path, node);
    add_transfers(path, node);
    add_nccl(path, node);
    add_sizes(path, node);
    add_partners(region, node);
    add_messages(region, node);
    add_collectives(path, node);
    add_series(region, node);
    sites_.add(path, node);
    trace_.add(path, node);
    for (const Node *child = valid(node.first_child); child != nullptr && child->parent == &node;
         child = valid(child->next_sibling))
      visit(*child, &region, thread, depth + 1);
  }

  // The call that the thread has not come back from, and the last that is known of the thread.
  void look_at_call(const ThreadRecord &thread) {
    const Recorder *recorder = valid(thread.recorder);
    const bool may_be = end_ != 0 && !process_.finalized && recorder != nullptr;
    open_ = may_be ? open_call(*recorder, thread) : OpenCall{};
    latest_ = open_ ? std::max(thread.newest, end_) : thread.newest;
  }
  void add_open_call(Region &region) {
    const std::uint64_t lasted = open_.lasted(latest_);
    add(rows::Calls{.path = region.path,
                    .call = string(function_names[open_.function]),
                    .memory = memory(open_.function, open_.memory),
                    .calls = 1,
                    .bytes = 0,
                    .time_total = seconds(lasted),
                    .time_max = seconds(lasted)});
    add_time(region, open_, lasted);
    add_time(done_, open_, lasted);
    open_calls_++;
  }

  void add_totals(Region &region, const Node &node) {
    if (node.instances > 0) {
      widen(region.inclusive, node.inclusive, region.instances == 0);
      widen(region.exclusive, node.exclusive, region.instances == 0);
    }
    region.instances += node.instances;
    region.ticks += node.ticks;
    // An instance that the process did not live to finish lasted until the last thing it did.
    if (node.begin != 0 && latest_ > node.begin) region.ticks += latest_ - node.begin;
    for (unsigned q = 0; q < quantities; q++) region.totals[q] += node.now[q];
    add_counted(region, node);
    region.skew += node.skew_ticks;
    region.largest = std::max(region.largest, node.largest_message);
    spilled_ += node.sizes_spilled;
  }

  void add_calls(std::uint64_t path, const Node &node) {
    add_calls(path, node.calls, Memory::host);
    for (const Memory memory : {Memory::device, Memory::managed})
      if (const CallPages *pages = valid(node.calls_apart[number_of(memory) - 1]))
        add_calls(path, *pages, memory);
  }
  void add_calls(std::uint64_t path, const CallPages &pages, Memory of) {
    for (unsigned i = 0; i < function_count; i++) {
      const CallPage *page = valid(pages[i / calls_per_page]);
      if (page == nullptr) continue;
      const CallRecord &call = (*page)[i % calls_per_page];
      // Of messages only the times are here: their numbers are in the message records.
      if (call.calls == 0 && call.ticks == 0) continue;
      add(rows::Calls{.path = path,
                      .call = string(function_names[i]),
                      .memory = memory(i, of),
                      .calls = call.calls,
                      .bytes = call.bytes,
                      .time_total = seconds(call.ticks),
                      .time_max = seconds(call.longest)});
      if (function_unaccounted[i] && call.calls > 0)
        add(rows::Unaccounted{.call = string(function_names[i]), .calls = call.calls});
    }
  }

  void add_transfers(std::uint64_t path, const Node &node) {
    const TransferPage *page = valid(node.transfers);
    if (page == nullptr) return;
    for (const TransferRecord &record : *page)
      if (record.messages > 0)
        add(rows::Transfers{.path = path,
                            .protocol = string(text(record.protocol.data())),
                            .messages = record.messages,
                            .bytes = record.bytes,
                            .chunks = record.chunks,
                            .helpers = record.helpers,
                            .time_total = 1e-9 * static_cast<double>(record.nanoseconds),
                            .time_max = 1e-9 * static_cast<double>(record.longest)});
  }

  void add_nccl(std::uint64_t path, const Node &node) {
    for (const NcclRecord *record = valid(node.nccl); record != nullptr; record = valid(record->next)) {
      const auto &[operation, algorithm, protocol, channels, size, bytes] = record->key;
      add(rows::Nccl{.path = path,
                     .operation = string(text(operation.data())),
                     .algorithm = string(text(algorithm.data())),
                     .protocol = string(text(protocol.data())),
                     .channels = channels,
                     .comm_size = size,
                     .bytes = bytes,
                     .calls = record->calls.load(),
                     .time_total = seconds(record->ticks.load()),
                     .time_max = seconds(record->longest.load())});
    }
  }

  void add_sizes(std::uint64_t path, const Node &node) {
    each(node.sizes, [&](const SizeRecord &size) {
      const auto [bytes, upper] = range_of((size.key & size_range) | bytes_of_size(size.key));
      add(rows::Sizes{.path = path,
                      .kind = string(kind_name(kind_of_size(size.key))),
                      .memory = memory(memory_of_size(size.key)),
                      .bytes = bytes,
                      .bytes_upper = upper,
                      .messages = size.messages,
                      .time_total = seconds(size.ticks)});
    });
  }

  void add_partners(Region &region, const Node &node) {
    for (const Partner *partner = valid(node.partners); partner != nullptr; partner = valid(partner->next)) {
      const std::int64_t other = partner->rank;
      const Traffic &neighbor = partner->neighbor;
      if (neighbor.sends > 0 || neighbor.recvs > 0)
        add(rows::Neighbors{.path = region.path,
                            .rank = rank(),
                            .partner = other,
                            .sends = neighbor.sends,
                            .bytes_sent = neighbor.bytes_sent,
                            .recvs = neighbor.recvs,
                            .bytes_recv = neighbor.bytes_recv,
                            .time = 0.0});
      if (partner->sends == 0 && partner->recvs == 0 && partner->ticks == 0) continue;
      if (partner->sends > 0) region.destinations.insert(other);
      if (partner->recvs > 0) region.sources.insert(other);
      add(rows::Partners{.path = region.path,
                         .rank = rank(),
                         .partner = other,
                         .sends = partner->sends,
                         .bytes_sent = partner->bytes_sent,
                         .recvs = partner->recvs,
                         .bytes_recv = partner->bytes_recv,
                         .time = seconds(partner->ticks)});
    }
  }

  // What the messages of one kind mean to the other tables.
  void add_messages(Region &region, const Node &node) {
    each(node.messages, [&](const MessageRecord &record) {
      const Partner *partner = valid(record.partner);
      if (partner == nullptr) return;
      const std::uint64_t size = bytes_of_what(record.key.what);
      const std::uint64_t message = message_of_what(record.key.what);
      const Memory of = memory_of_what(record.key.what);
      const bool received = message == arrived || message == exchanged;
      const std::uint64_t bytes = record.messages * size;
      const std::uint64_t outgoing = received ? 0 : record.messages;
      const std::uint64_t incoming = received ? record.messages : 0;
      const std::int64_t other = partner->rank;
      if (outgoing > 0) {
        region.destinations.insert(other);
        region.largest = std::max(region.largest, size);
      }
      if (message != exchanged)
        count_for_communicator(static_cast<std::uint32_t>(record.key.channel >> 32U), record.messages,
                               received ? 0 : bytes);
      if (incoming > 0) region.sources.insert(other);
      if (record.messages == 0 && record.ticks == 0) return;
      add(rows::Partners{.path = region.path,
                         .rank = rank(),
                         .partner = other,
                         .sends = outgoing,
                         .bytes_sent = received ? 0 : bytes,
                         .recvs = incoming,
                         .bytes_recv = received ? bytes : 0,
                         .time = seconds(record.ticks)});
      add(rows::Sizes{.path = region.path,
                      .kind = string(kind_name(Kind::p2p)),
                      .memory = memory(of),
                      .bytes = size,
                      .bytes_upper = size,
                      .messages = outgoing,
                      .time_total = seconds(record.ticks)});
      if (message >= sent && message - sent < function_count && outgoing > 0)
        add(rows::Calls{.path = region.path,
                        .call = string(function_names[message - sent]),
                        .memory = memory(static_cast<unsigned>(message - sent), of),
                        .calls = outgoing,
                        .bytes = bytes,
                        .time_total = 0.0,
                        .time_max = 0.0});
    });
  }

  void count_for_communicator(std::uint32_t number, std::uint64_t calls, std::uint64_t bytes) {
    if (const Communicator *used = communicator(number)) add_communicator(*used, calls, bytes);
  }

  static const char *kind_name(Kind kind) noexcept {
    constexpr const char *names[] = {"?", "p2p", "coll", "rma"};
    return names[static_cast<unsigned>(kind) & 3U];
  }

  // A size of a record, whose top bit marks a range: its bounds.
  static std::pair<std::uint64_t, std::uint64_t> range_of(std::uint64_t marked) noexcept {
    const std::uint64_t bytes = marked & ~(1ULL << 63U);
    return {bytes, marked == bytes ? bytes : bytes == 0 ? 0 : 2 * bytes - 1};
  }

  void add_collectives(std::uint64_t path, const Node &node) {
    each(node.collectives, [&](const CollectiveRecord &record) {
      const std::uint64_t function = function_of_operation(record.key.operation_and_size);
      if (function >= function_count) return;
      const auto [bytes, upper] = range_of(record.key.bytes);
      const Memory of = memory_of_operation(record.key.operation_and_size);
      add(rows::Collectives{.path = path,
                            .operation = string(operation_name(function_names[function])),
                            .comm_size = record.key.operation_and_size & 0xFFFF'FFFFU,
                            .bytes = bytes,
                            .calls = record.calls,
                            .time_total = seconds(record.ticks),
                            .time_max = seconds(record.longest)});
      add(rows::Sizes{.path = path,
                      .kind = string(kind_name(Kind::coll)),
                      .memory = memory(static_cast<unsigned>(function), of),
                      .bytes = bytes,
                      .bytes_upper = upper,
                      .messages = record.calls,
                      .time_total = seconds(record.ticks)});
    });
  }

  // MPI_Iallreduce, MPI_Allreduce_init and MPI_Allreduce_c are the operation Allreduce.
  static std::string operation_name(std::string_view function) {
    std::string name{function.substr(4)};
    if (name.ends_with("_c")) name.resize(name.size() - 2);
    if (name.ends_with("_init")) name.resize(name.size() - 5);
    if (name.size() > 1 && name[0] == 'I' && name[1] >= 'a' && name[1] <= 'z') {
      name.erase(0, 1);
      name[0] = static_cast<char>(name[0] - 'a' + 'A');
    }
    return name;
  }

  // Instances of another thread are numbered on.
  void add_series(Region &region, const Node &node) {
    Table &instances = contents_[TableId::instances];
    const std::size_t before = instances.rows();
    each(node.instance_list, [&](std::uint64_t packed) { instances.add(rows::Instances{.packed = packed}); });
    if (const std::size_t count = instances.rows() - before; count > 0)
      add(rows::Series{.path = region.path,
                       .rank = rank(),
                       .thread = threads_,
                       .instance = region.begun,
                       .instances = count});
    each(node.value_list, [&](const ValueRecord &record) {
      add(rows::Values{.path = region.path,
                       .rank = rank(),
                       .instance = region.begun + record.instance,
                       .name = string(text(record.name)),
                       .value = record.value});
    });
    region.begun += node.instance;
  }

  void add_phases(const ThreadRecord &thread) {
    for (const PhaseRecord *phase = valid(thread.phases); phase != nullptr; phase = valid(phase->before)) {
      if (phase->iterations == 0) continue;
      const auto after = [&](std::uint64_t tick) {
        return seconds(tick - std::min(tick, process_.first.tick));
      };
      add(rows::Phases{.rank = rank(),
                       .phase = phase->number,
                       .iterations = phase->iterations,
                       .found_after = std::min(phase->found_after, phase->iterations),
                       .length = phase->length,
                       .forms = phase->forms,
                       .calls = phase->calls,
                       .all_calls = std::max(phase->all_calls, phase->calls),
                       .start = after(phase->first),
                       .end = after(phase->last)});
    }
  }

  // What came after the last slice is one more.
  void add_slices(const ThreadRecord &thread) {
    if (process_.slice <= 0) return;
    const Slices *slices = valid(thread.slices);
    const std::uint64_t doublings = most_doublings();
    const std::uint64_t length = process_.slice_ticks.load() << doublings;
    const std::uint64_t count = slices == nullptr ? 0 : count_of(*slices);
    for (std::uint64_t i = 0; i < count; i++) {
      const Slice &slice = slices->slices[i];
      add_slice(slice, slice.place >> (doublings - std::min(doublings, slices->doublings)), length);
    }
    Slice rest = slices == nullptr ? done_ : difference(done_, sum_of(*slices));
    rest.begin = slices == nullptr ? process_.first.tick : end_of(*slices);
    rest.end = latest_;
    add_slice(rest, length == 0 ? 0 : (rest.begin - process_.first.tick) / length, length);
  }

  // Threads with more to tell have longer slices.
  std::uint64_t most_doublings() const {
    std::uint64_t most = 0;
    for (const ThreadRecord *thread = valid(process_.threads.load()); thread != nullptr;
         thread = valid(thread->next))
      if (const Slices *slices = valid(thread->slices)) most = std::max(most, slices->doublings);
    return std::min<std::uint64_t>(most, 63);
  }

  void add_slice(const Slice &slice, std::uint64_t place, std::uint64_t length) {
    if (is_empty(slice)) return;
    const double start = seconds(place * length);
    const double end = seconds(slice.end - std::min(slice.end, process_.first.tick));
    add(rows::Slices{.rank = rank(),
                     .slice = place,
                     .start = start,
                     .duration = std::max(end - start, 0.0),
                     .sums = rows::sums(slice, tick_)});
  }

  void add_communicator(const CommunicatorUse &use) {
    const Communicator *communicator = valid(use.communicator);
    if (communicator != nullptr && use.calls > 0) add_communicator(*communicator, use.calls, use.bytes);
  }
  void add_communicator(const Communicator &communicator, std::uint64_t calls, std::uint64_t bytes) {
    // The rank counts once a communicator, however many threads used it.
    const auto identity = std::pair{communicator.members, std::string{text(communicator.name)}};
    const std::uint64_t fresh = communicators_.insert(identity).second ? 1 : 0;
    add(rows::Communicators{.name = string(identity.second),
                            .size = communicator.size,
                            .members = communicator.members,
                            .ranks = fresh,
                            .calls = calls,
                            .bytes = bytes});
  }

  static void spread_partners(Region &region) {
    for (Region *around = &region; around != nullptr; around = around->parent) {
      around->nested_destinations.insert(region.destinations.begin(), region.destinations.end());
      around->nested_sources.insert(region.sources.begin(), region.sources.end());
    }
  }

  void add_rank_row(const Region &region) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    add(rows::Ranks{.path = region.path,
                    .rank = rank(),
                    .instances = region.instances,
                    .time = seconds(region.ticks),
                    .sends = region.totals[sends],
                    .recvs = region.totals[recvs],
                    .bytes_sent = region.totals[bytes_sent],
                    .bytes_recv = region.totals[bytes_recv],
                    .colls = region.totals[colls],
                    .counted = rows::counted(region, tick_),
                    .skew_time = process_.sync_collectives == 0 ? unknown : seconds(region.skew),
                    .largest_message = region.largest,
                    .dest_ranks = region.nested_destinations.size(),
                    .src_ranks = region.nested_sources.size(),
                    .dest_ranks_exclusive = region.destinations.size(),
                    .src_ranks_exclusive = region.sources.size(),
                    .extremes = rows::extremes(region.inclusive, region.exclusive)});
  }

  void add_process_row(std::uint64_t begins, std::uint64_t ends) {
    const auto whole = regions_.find(0);
    // A rank that does not record knows of itself only when it began and ended.
    const std::uint64_t duration = whole != regions_.end() ? whole->second.ticks
                                   : process_.finalized    ? process_.last.tick - process_.first.tick
                                                           : 0;
    add(rows::Processes{.rank = rank(),
                        .host = string(text(process_.host.data())),
                        .pid = process_.pid,
                        .start = process_.start,
                        .duration = seconds(duration),
                        .threads = threads_,
                        .unmatched_begins = begins,
                        .unmatched_ends = ends,
                        .dropped = process_.dropped.load(),
                        .finalized = process_.finalized,
                        .sizes_spilled = spilled_,
                        .watched = process_.watched,
                        .tick = tick_,
                        .cpus = string(text(process_.cpus.data())),
                        .numa_nodes = string(text(process_.numa_nodes.data())),
                        .sockets = string(text(process_.sockets.data())),
                        .open_calls = open_calls_});
  }

  // What was said last of a key comes first.
  void add_metadata() {
    constexpr const char *kinds[] = {"user", "environment", "job"};
    std::set<std::pair<MetadataKind, std::string_view>> said;
    for (const MetadataRecord *record = valid(process_.metadata.load()); record != nullptr;
         record = valid(record->next)) {
      const auto kind = std::min(static_cast<std::size_t>(record->kind), std::size(kinds) - 1);
      if (said.insert({record->kind, text(record->key)}).second)
        add(rows::Metadata{.kind = string(kinds[kind]),
                           .key = string(text(record->key)),
                           .value = string(text(record->value)),
                           .ranks = 1,
                           .first = process_.rank == 0});
    }
  }

  const ProcessRecord &process_;
  double tick_;
  std::uint64_t end_;
  OpenCall open_{};          // of the thread that is being visited
  std::uint64_t latest_ = 0; // tick of what is known last of it
  Contents contents_;
  SiteRows sites_;
  trace::TraceRows trace_;
  std::map<std::uint64_t, Region> regions_; // addresses stay
  std::set<std::pair<std::uint64_t, std::string>> communicators_;
  std::uint64_t spilled_ = 0, threads_ = 0, open_calls_ = 0;
  Slice done_{}; // by the thread that is being visited
};

} // namespace

Contents collect(const Arena &arena, const ProcessRecord &process, double tick, std::uint64_t end,
                 const std::string &spool) {
  return Collection{arena, process, tick, end, spool}.run();
}

} // namespace haloscope::watch
