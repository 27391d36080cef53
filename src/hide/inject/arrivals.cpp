#include "injection.hpp"
#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <list>

namespace haloscope::inject {

namespace {

// A stamp whose sending is not over when it is sent: rare, as stamps are small.
struct Pending {
  std::array<std::byte, 32> content;
  MPI_Request request;
};
std::list<Pending> pending;

std::uint64_t instance() {
  const double every = state.plan.every_seconds;
  if (every <= 0) return state.drawn++ / state.plan.every_messages;
  return static_cast<std::uint64_t>(std::max(0.0, 1e-9 * static_cast<double>(now() - state.begin) / every));
}

// Under the lock.
double drawn(Link link, Row &row) {
  Source &source = state.sources[static_cast<std::size_t>(link)];
  source.advance(instance());
  row.link = static_cast<std::uint8_t>(link);
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

// Notes a latency; the moment when it is over.
Moment noted(Row row, double seconds) {
  row.latency = seconds;
  state.journal.add(row, state.plan.journal_limit);
  return row.sent + static_cast<Moment>(std::llround(1e9 * std::min(seconds, 1e9)));
}

// Under the lock. A message that was sent past the injector (by PMPI_Send, say) has no stamp, which is not
// to stop the program.
std::optional<Moment> taken(Communicator &communicator, int source, int tag, bool waits) {
  constexpr Moment patience = 10'000'000'000;
  for (;;) {
    int there = 0;
    real.Iprobe(source, tag, communicator.stamps, &there, MPI_STATUS_IGNORE);
    if (there != 0) break;
    if (communicator.missed == 0) communicator.missed = now();
    if (now() - communicator.missed > patience) {
      communicator.silent = true;
      watch::complain(
          "a message was sent past the injector, by PMPI functions or a rank without it: messages "
          "in its communicator are delayed no more");
      return 0;
    }
    if (!waits) return std::nullopt;
  }
  communicator.missed = 0;
  Moment due = 0;
  real.Recv(&due, sizeof due, MPI_BYTE, source, tag, communicator.stamps, MPI_STATUS_IGNORE);
  return due;
}

// Whether a receive that was posted earlier has got a message of this source and tag, and not its stamp. One
// that can get no other certainly has; of others the library knows.
bool came_first(const Request &request, MPI_Request handle, int source, int tag) {
  if (request.partner == source && request.tag == tag && !request.cancelled) return true;
  int done = 0;
  MPI_Status status;
  if (real.Request_get_status(handle, &done, &status) != MPI_SUCCESS || done == 0) return false;
  return status.MPI_SOURCE == source && status.MPI_TAG == tag && !watch::was_cancelled(status);
}

// Stamps come in the order of their messages, but receives may be completed in any.
bool serve_earlier(Communicator &communicator, int source, int tag, bool waits, std::uint64_t order) {
  std::vector<Request *> earlier;
  for (auto &[handle, request] : state.requests) {
    const bool fits = (request.partner == source || request.partner == MPI_ANY_SOURCE) &&
                      (request.tag == tag || request.tag == MPI_ANY_TAG);
    if (request.kind == Request::Kind::receive && request.active && !request.due && fits &&
        request.communicator.get() == &communicator && request.order < order)
      earlier.push_back(&request);
  }
  std::ranges::sort(earlier, {}, &Request::order);
  return std::ranges::all_of(earlier, [&](Request *request) {
    if (!came_first(*request, request->handle, source, tag)) return true;
    const auto due = taken(communicator, source, tag, waits);
    if (due) request->due = due;
    return due.has_value();
  });
}

// Under the lock. Of a message that was probed, or the next stamp that comes.
std::optional<Moment> oldest(Communicator &communicator, int source, int tag, bool waits) {
  auto &peeked = communicator.peeked;
  const auto found = std::ranges::find_if(
      peeked, [&](const auto &known) { return known.source == source && known.tag == tag; });
  if (found == peeked.end()) return taken(communicator, source, tag, waits);
  const Moment due = found->due;
  peeked.erase(found);
  return due;
}

// The same request as it is now, unless its handle is another's by now.
Request *kept_of(const Request &request) {
  const auto found = state.requests.find(watch::value_of(request.handle));
  return found == state.requests.end() || found->second.order != request.order ? nullptr : &found->second;
}

} // namespace

Link link_to(const Communicator &communicator, int rank) {
  const int world = communicator.world[static_cast<std::size_t>(rank)];
  return is_here(world) ? Link::intra : Link::inter;
}

bool reaches(const Communicator *communicator, int rank) {
  return communicator != nullptr && rank >= 0 && rank != communicator->rank &&
         static_cast<std::size_t>(rank) < communicator->world.size();
}

void send_stamp(const void *content, std::size_t size, int dest, int tag, MPI_Comm comm) {
  pending.remove_if([](Pending &old) {
    int done = 0;
    real.Test(&old.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  Pending &stamp = pending.emplace_back();
  std::memcpy(stamp.content.data(), content, size);
  real.Isend(stamp.content.data(), static_cast<int>(size), MPI_BYTE, dest, tag, comm, &stamp.request);
  int done = 0;
  real.Test(&stamp.request, &done, MPI_STATUS_IGNORE);
  if (done != 0) pending.pop_back();
}

void stamp(MPI_Comm comm, int dest, int tag) {
  if (dest < 0) return;
  if (Communicator *communicator = communicator_of(comm)) stamp(*communicator, dest, tag);
}

void stamp(Communicator &communicator, int dest, int tag) {
  if (!reaches(&communicator, dest) || communicator.stamps == MPI_COMM_NULL) return;
  const Link link = link_to(communicator, dest);
  if (!state.plan.stamps(link)) return;
  const Lock lock;
  const Moment due = departed(communicator, dest, tag);
  send_stamp(&due, sizeof due, dest, tag, communicator.stamps);
}

Moment departed(const Communicator &communicator, int dest, int tag) {
  Row row{.sent = now(), .partner = communicator.world[static_cast<std::size_t>(dest)], .tag = tag};
  const double seconds = drawn(link_to(communicator, dest), row) + single(row);
  return noted(row, seconds);
}

std::optional<Moment> arrival(Communicator *communicator, const MPI_Status &status, bool waits,
                              const Request *own) {
  const int source = status.MPI_SOURCE, tag = status.MPI_TAG;
  if (!reaches(communicator, source) || communicator->silent) return 0;
  const Link link = link_to(*communicator, source);
  if (communicator->stamps == MPI_COMM_NULL) // the receiver draws in the sender's place
    return transferred(link, {.sent = now(), .tag = tag});
  if (!state.plan.stamps(link)) return 0;
  const Lock lock;
  Request *kept = own == nullptr ? nullptr : kept_of(*own);
  if (kept != nullptr && kept->due) return kept->due; // another thread has served it
  if (!serve_earlier(*communicator, source, tag, waits, own == nullptr ? UINT64_MAX : own->order))
    return std::nullopt;
  const auto due = oldest(*communicator, source, tag, waits);
  if (kept != nullptr) kept->due = due;
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

Moment transferred(Link link, Row row) {
  if (state.plan.links[static_cast<std::size_t>(link)].is_none()) return 0;
  const Lock lock;
  const double seconds = drawn(link, row);
  return noted(row, seconds);
}

Moment collective_due(std::optional<Link> link, Moment from) {
  if (!link) return 0;
  return transferred(*link, {.sent = from, .what = What::collective});
}

} // namespace haloscope::inject
