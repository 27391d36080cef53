#include "injection.hpp"

#include <algorithm>
#include <cmath>
#include <list>

namespace haloscope::inject {

namespace {

// A stamp whose sending is not over when it is sent: rare, as stamps are small.
struct Pending {
  Moment due;
  MPI_Request request;
};
std::list<Pending> pending;

Link link_to(const Communicator &communicator, int rank) {
  const int world = communicator.world[static_cast<std::size_t>(rank)];
  if (world < 0) return Link::inter;
  const auto &nodes = state.nodes;
  return nodes[static_cast<std::size_t>(world)] == nodes[static_cast<std::size_t>(state.world_rank)]
             ? Link::intra
             : Link::inter;
}

std::uint64_t instance() {
  const double every = state.plan.every_seconds;
  if (every <= 0) return state.drawn++ / state.plan.every_messages;
  return static_cast<std::uint64_t>(std::max(0.0, 1e-9 * static_cast<double>(now() - state.begin) / every));
}

// Under the lock.
double drawn(Link link, Row &row) {
  Source &source = state.sources[static_cast<std::size_t>(link)];
  source.advance(instance());
  row.link = static_cast<std::uint16_t>(link);
  row.regime = static_cast<std::int16_t>(source.regime());
  row.machine_state = static_cast<std::int16_t>(source.machine_state());
  return source.draw();
}

double single(Row &row) {
  const std::uint64_t number = state.sent++;
  double seconds = 0;
  for (const Event &event : state.plan.events)
    if (event.rank == state.world_rank && number >= event.first && number - event.first < event.count) {
      seconds += event.seconds;
      row.once = 1;
    }
  return seconds;
}

Moment ticks_of(double seconds) { return static_cast<Moment>(std::llround(1e9 * std::min(seconds, 1e9))); }

void send_stamp(Moment due, int dest, int tag, MPI_Comm comm) {
  pending.remove_if([](Pending &old) {
    int done = 0;
    real.Test(&old.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  Pending &stamp = pending.emplace_back(Pending{due, {}});
  real.Isend(&stamp.due, sizeof stamp.due, MPI_BYTE, dest, tag, comm, &stamp.request);
  int done = 0;
  real.Test(&stamp.request, &done, MPI_STATUS_IGNORE);
  if (done != 0) pending.pop_back();
}

bool carries_stamp(const Communicator *communicator, int rank) {
  return communicator != nullptr && rank >= 0 && rank != communicator->rank &&
         static_cast<std::size_t>(rank) < communicator->world.size() &&
         state.plan.stamps(link_to(*communicator, rank));
}

} // namespace

void stamp(MPI_Comm comm, int dest, int tag) {
  if (dest < 0) return;
  if (Communicator *communicator = communicator_of(comm)) stamp(*communicator, dest, tag);
}

void stamp(Communicator &communicator, int dest, int tag) {
  if (!carries_stamp(&communicator, dest)) return;
  const Lock lock;
  Row row{.sent = now(), .partner = communicator.world[static_cast<std::size_t>(dest)], .tag = tag};
  row.latency = drawn(link_to(communicator, dest), row) + single(row);
  state.journal.add(row, state.plan.journal_limit);
  send_stamp(row.sent + ticks_of(row.latency), dest, tag, communicator.stamps);
}

std::optional<Moment> arrival(Communicator *communicator, const MPI_Status &status, bool waits) {
  const int source = status.MPI_SOURCE, tag = status.MPI_TAG;
  if (!carries_stamp(communicator, source)) return 0;
  {
    const Lock lock;
    auto &peeked = communicator->peeked;
    const auto found = std::ranges::find_if(
        peeked, [&](const auto &known) { return known.source == source && known.tag == tag; });
    if (found != peeked.end()) {
      const Moment due = found->due;
      peeked.erase(found);
      return due;
    }
  }
  if (!waits) {
    int there = 0;
    real.Iprobe(source, tag, communicator->stamps, &there, MPI_STATUS_IGNORE);
    if (there == 0) return std::nullopt;
  }
  Moment due = 0;
  real.Recv(&due, sizeof due, MPI_BYTE, source, tag, communicator->stamps, MPI_STATUS_IGNORE);
  return due;
}

std::optional<Moment> foreseen(Communicator *communicator, const MPI_Status &status, bool waits) {
  const auto due = arrival(communicator, status, waits);
  if (due && *due != 0) {
    const Lock lock; // first, as it is the oldest of its kind
    communicator->peeked.insert(communicator->peeked.begin(), {status.MPI_SOURCE, status.MPI_TAG, *due});
  }
  return due;
}

Moment collective_due(const Communicator *communicator, Moment from) {
  if (communicator == nullptr || !state.plan.collectives) return 0;
  if (communicator->rank >= 0 && communicator->world.size() < 2) return 0;
  const Link link = communicator->spans_nodes ? Link::inter : Link::intra;
  if (state.plan.links[static_cast<std::size_t>(link)].is_none()) return 0;
  const Lock lock;
  Row row{.sent = from, .partner = -1, .tag = -1};
  row.latency = drawn(link, row);
  state.journal.add(row, state.plan.journal_limit);
  return from + ticks_of(row.latency);
}

} // namespace haloscope::inject
