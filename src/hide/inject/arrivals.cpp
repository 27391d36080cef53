#include "hide/inject/injection.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace haloscope::inject {

namespace {

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

// Notes a latency, and returns the moment when it is over.
Moment note_latency(Row row, double seconds) {
  row.latency = seconds;
  state.journal.add(row);
  return row.sent + static_cast<Moment>(std::llround(1e9 * std::min(seconds, 1e9)));
}

// Under the lock. A message that was sent past the injector (for example by PMPI_Send) has no stamp, nor has
// one whose stamp was taken by a wrong guess. The program must not stop because of that.
bool is_given_up(Communicator &communicator) {
  constexpr Moment patience = 10'000'000'000, brief = 100'000'000;
  if (communicator.missed == 0) communicator.missed = now();
  if (now() - communicator.missed <= (communicator.guesses > 0 ? brief : patience)) return false;
  communicator.missed = 0;
  if (communicator.guesses > 0) {
    communicator.guesses--;
    return true;
  }
  communicator.silent = true;
  interpose::complain(
      "a message bypassed the injector, by a PMPI function or from a rank without it: messages "
      "in its communicator are no longer delayed");
  return true;
}

// Under the lock; nothing while the stamp is not there.
std::optional<Moment> take_stamp(Communicator &communicator, int source, int tag) {
  int there = 0;
  Moment due = 0;
  if (real.Iprobe(source, tag, communicator.stamps, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS) there = 0;
  if (there == 0) return is_given_up(communicator) ? std::optional<Moment>{0} : std::nullopt;
  communicator.missed = 0;
  const int result =
      real.Recv(&due, sizeof due, MPI_BYTE, source, tag, communicator.stamps, MPI_STATUS_IGNORE);
  return result == MPI_SUCCESS ? due : 0;
}

struct Envelope {
  int source, tag;

  [[nodiscard]] bool is_open() const noexcept { return source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }
};

// The envelope of the message that a request has received: its arguments, and the status where these are
// wildcards. Some libraries set no status for an MPI_Isendrecv. Then the wildcards stay.
Envelope envelope_of(const Request &request, const MPI_Status &status) {
  const bool told = !request.exchange || state.tells_exchanges;
  return {told && request.partner == MPI_ANY_SOURCE ? status.MPI_SOURCE : request.partner,
          told && request.tag == MPI_ANY_TAG ? status.MPI_TAG : request.tag};
}

// Under the lock. The first stamp that may be that of such a message. None is waited for: the message may be
// our own.
std::optional<Moment> guess_stamp(Communicator &communicator, const Envelope &wanted) {
  int there = 0, bytes = 0;
  MPI_Status found;
  if (real.Iprobe(wanted.source, wanted.tag, communicator.stamps, &there, &found) != MPI_SUCCESS ||
      there == 0 || real.Get_count(&found, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes != sizeof(Moment))
    return 0;
  communicator.guesses++;
  return take_stamp(communicator, found.MPI_SOURCE, found.MPI_TAG);
}

// Whether a receive that was posted earlier has got a message of this source and tag, and not its stamp. One
// that can get no other certainly has; of others the library knows.
bool came_first(const Request &request, MPI_Request handle, int source, int tag) {
  if (request.partner == source && request.tag == tag && !request.cancelled) return true;
  if (request.completing != std::thread::id{}) return false; // it may be another's handle by now
  int done = 0;
  MPI_Status status{};
  if (real.Request_get_status(handle, &done, &status) != MPI_SUCCESS || done == 0) return false;
  const Envelope got = envelope_of(request, status);
  return got.source == source && got.tag == tag && !interpose::was_cancelled(status);
}

// Stamps come in the order of their messages, but receives may be completed in any.
bool serve_earlier(Communicator &communicator, int source, int tag, std::uint64_t order) {
  std::vector<Request *> earlier;
  const auto add = [&](Request &request) {
    const bool fits = (request.partner == source || request.partner == MPI_ANY_SOURCE) &&
                      (request.tag == tag || request.tag == MPI_ANY_TAG);
    if (request.kind == Request::Kind::receive && request.active && !request.due && fits &&
        request.communicator.get() == &communicator && request.order < order)
      earlier.push_back(&request);
  };
  for (const auto &[handle, request] : state.requests) add(*request);
  for (const Kept &request : state.displaced) add(*request);
  std::ranges::sort(earlier, {}, &Request::order);
  return std::ranges::all_of(earlier, [&](Request *request) {
    if (!came_first(*request, request->handle, source, tag)) return true;
    const auto due = take_stamp(communicator, source, tag);
    if (due) request->due = due;
    return due.has_value();
  });
}

// Under the lock. Of a message that was probed, or the next stamp that comes.
std::optional<Moment> oldest(Communicator &communicator, int source, int tag) {
  auto &peeked = communicator.peeked;
  const auto found = std::ranges::find_if(
      peeked, [&](const auto &known) { return known.source == source && known.tag == tag; });
  if (found == peeked.end()) return take_stamp(communicator, source, tag);
  const Moment due = found->due;
  peeked.erase(found);
  return due;
}

// Under the lock. Where several threads receive, MPI may give a message to a receive that seems to be a later
// one. The stamp that was given to one which is not complete is that of the message which is: each message
// has one. So none waits for a stamp that is not sent yet.
std::optional<Moment> take_back(const Communicator &communicator, const Envelope &message) {
  Request *latest = nullptr;
  if (state.several_threads)
    for (const auto &[handle, request] : state.requests)
      if (request->kind == Request::Kind::receive && request->due && !request->received &&
          request->partner == message.source && request->tag == message.tag &&
          request->communicator.get() == &communicator &&
          (latest == nullptr || request->order > latest->order))
        latest = request.get();
  return latest == nullptr ? std::nullopt : std::exchange(latest->due, std::nullopt);
}

// From its stamp, if that is there.
std::optional<Moment> find_stamp(Communicator &communicator, const Envelope &message, Request *own) {
  const Lock lock;
  std::optional<Moment> due;
  if (own != nullptr && own->due) // another thread has served it
    due = own->due;
  else if (message.is_open())
    return guess_stamp(communicator, message);
  else if (serve_earlier(communicator, message.source, message.tag, own == nullptr ? UINT64_MAX : own->order))
    due = oldest(communicator, message.source, message.tag);
  if (!due) due = take_back(communicator, message);
  if (own != nullptr && due) {
    own->due = due;
    own->received = true;
  }
  return due;
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

Moment departed(const Communicator &communicator, int dest, int tag) {
  Row row{.sent = now(), .partner = communicator.world[static_cast<std::size_t>(dest)], .tag = tag};
  const double seconds = drawn(link_to(communicator, dest), row) + single(row);
  return note_latency(row, seconds);
}

std::optional<Moment> arrival(Communicator *communicator, const MPI_Status &status, bool waits,
                              Request *own) {
  const Envelope message =
      own == nullptr ? Envelope{status.MPI_SOURCE, status.MPI_TAG} : envelope_of(*own, status);
  if (message.is_open() && (own == nullptr || !own->exchange)) return 0; // an empty status
  if (message.source != MPI_ANY_SOURCE) {
    if (!reaches(communicator, message.source)) return 0;
    const Link link = link_to(*communicator, message.source);
    if (communicator->stamps == MPI_COMM_NULL) // the receiver draws in the sender's place
      return transferred(link, {.sent = now(), .tag = message.tag});
    if (!state.plan.stamps(link)) return 0;
  }
  if (communicator->stamps == MPI_COMM_NULL) return 0;
  for (;;) { // without the lock now and then: other threads have stamps to send
    if (communicator->silent) return 0;
    const auto due = find_stamp(*communicator, message, own);
    if (due || !waits) return due;
  }
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
  return note_latency(row, seconds);
}

Moment collective_due(std::optional<Link> link, Moment from) {
  if (!link) return 0;
  return transferred(*link, {.sent = from, .what = What::collective});
}

} // namespace haloscope::inject
