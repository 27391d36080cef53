#include "predict/simulate/counts.hpp"

#include <algorithm>
#include <simgrid/actor.h>
#include <simgrid/host.h>

namespace haloscope::simulate {

namespace {

std::map<aid_t, Rank *> &actors() {
  static std::map<aid_t, Rank *> all;
  return all;
}

void merge(std::set<int> &into, const std::set<int> &from) { into.insert(from.begin(), from.end()); }

} // namespace

World &world() {
  // Never destroyed: actors may be torn down after static objects are.
  static auto *const all = new World;
  return *all;
}

void Extremes::add(const Quantities &values, bool first) {
  for (unsigned i = 0; i < quantities; i++) {
    least[i] = first ? values[i] : std::min(least[i], values[i]);
    most[i] = first ? values[i] : std::max(most[i], values[i]);
  }
}

void Rank::begin(const std::string &name, bool communication, double now) {
  Frame frame;
  frame.path = world().path(open.back().path, name, communication);
  frame.start = now;
  open.push_back(std::move(frame));
}

// As the recorder does: an end without its begin counts, and so does a begin that an outer end passes over.
void Rank::end(const std::string &name, double now) {
  const auto match = std::find_if(open.rbegin(), open.rend() - 1, [&](const Frame &frame) {
    return world().paths[static_cast<std::size_t>(frame.path)].name == name;
  });
  if (match == open.rend() - 1) {
    unmatched_ends++;
    return;
  }
  for (auto nested = match - open.rbegin(); nested > 0; nested--) {
    unmatched_begins++;
    close(now);
  }
  close(now);
}

void Rank::finish(double now) {
  for (; open.size() > 1; close(now)) unmatched_begins++;
  close(now);
  stop = now;
}

// What happened in an instance counts in the one around it.
void Rank::close(double now) {
  Frame frame = std::move(open.back());
  open.pop_back();
  Region &region = regions[frame.path];
  frame.own[dest_ranks] = static_cast<std::int64_t>(frame.own_destinations.size());
  frame.own[src_ranks] = static_cast<std::int64_t>(frame.own_sources.size());
  merge(frame.destinations, frame.own_destinations);
  merge(frame.sources, frame.own_sources);
  for (unsigned i = 0; i < quantities; i++) frame.all[i] += frame.own[i];
  frame.all[dest_ranks] = static_cast<std::int64_t>(frame.destinations.size());
  frame.all[src_ranks] = static_cast<std::int64_t>(frame.sources.size());
  region.inclusive.add(frame.all, region.instances == 0);
  region.exclusive.add(frame.own, region.instances == 0);
  region.instances++;
  region.time += now - frame.start;
  for (unsigned i = 0; i < quantities; i++) region.sums[i] += frame.own[i];
  merge(region.destinations, frame.destinations);
  merge(region.sources, frame.sources);
  if (open.empty()) return;
  Frame &outer = open.back();
  for (unsigned i = 0; i < quantities; i++) outer.all[i] += frame.all[i];
  merge(outer.destinations, frame.destinations);
  merge(outer.sources, frame.sources);
}

void Rank::sent(int to, std::int64_t bytes) {
  Frame &frame = open.back();
  frame.own[sends]++;
  frame.own[bytes_sent] += bytes;
  frame.own_destinations.insert(to);
  Region &here = region();
  here.largest = std::max(here.largest, bytes);
  Traffic &traffic = here.partners[to];
  traffic.sends++;
  traffic.bytes_sent += bytes;
  world().sizes[{frame.path, Kind::p2p, bytes}].add(1, bytes, 0);
}

void Rank::received(int from, std::int64_t bytes) {
  Frame &frame = open.back();
  frame.own[recvs]++;
  frame.own[bytes_recv] += bytes;
  frame.own_sources.insert(from);
  Traffic &traffic = region().partners[from];
  traffic.recvs++;
  traffic.bytes_recv += bytes;
}

void Rank::spent_on_message(int partner, std::int64_t bytes, double seconds) {
  region().partners[partner].time += seconds;
  world().sizes[{open.back().path, Kind::p2p, bytes}].add(0, 0, seconds);
}

void Rank::collective(const char *operation, int size, std::int64_t bytes, double seconds) {
  Frame &frame = open.back();
  frame.own[colls]++;
  region().coll_bytes += bytes;
  world().sizes[{frame.path, Kind::coll, bytes}].add(1, bytes, seconds);
  world().collectives[{frame.path, operation, size, bytes}].add(1, bytes, seconds);
}

void Rank::call(const char *name, Kind kind, std::int64_t bytes, double seconds, bool waiting) {
  Region &here = region();
  (kind == Kind::p2p ? here.p2p_time : kind == Kind::coll ? here.coll_time : here.other_time) += seconds;
  if (waiting) here.wait_time += seconds;
  world().calls[{open.back().path, name}].add(1, bytes, seconds);
}

int World::path(int parent, const std::string &name, bool communication) {
  const auto [entry, added] = children.try_emplace({parent, name}, static_cast<int>(paths.size()));
  if (added) paths.push_back({parent, communication, name});
  return entry->second;
}

Rank &start_rank(int number, double now) {
  Rank &rank = world().ranks[number];
  rank.number = number;
  rank.host = sg_host_self_get_name();
  rank.start = now;
  rank.open.emplace_back();
  rank.open.back().start = now;
  actors()[sg_actor_self_get_pid()] = &rank;
  world().running++;
  return rank;
}

void end_rank(Rank &rank, double now) {
  rank.finish(now);
  actors().erase(sg_actor_self_get_pid());
  if (--world().running == 0) world().write();
}

Rank *this_rank() {
  const auto found = actors().find(sg_actor_self_get_pid());
  return found == actors().end() ? nullptr : found->second;
}

Rank *entered() {
  Rank *rank = this_rank();
  if (rank == nullptr || rank->inside) return nullptr;
  rank->inside = true;
  return rank;
}

} // namespace haloscope::simulate
