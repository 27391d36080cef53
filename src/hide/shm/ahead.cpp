#include "hide/shm/ahead.hpp"

#include "hide/shm/lanes.hpp"
#include "hide/shm/receiving.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace haloscope::shm {

namespace {

// A channel is made for the first message, and again after this many messages that found none.
constexpr unsigned arrivals_a_lane = 4;

using Key = std::pair<int, std::size_t>; // world rank and slot
// NOLINTBEGIN(bugprone-throwing-static-initialization)
std::map<Key, Lane> lanes;
std::map<Key, Source> sources;
std::unordered_map<int, std::uint64_t> lengths_sent; // slots whose length the program has sent, by world rank
std::unordered_map<int, unsigned> arrivals;          // by no lane
std::unordered_map<int, int> notices_sent, notices_received; // by world rank
std::deque<SentNotice> notices_in_flight;
// NOLINTEND(bugprone-throwing-static-initialization)
MPI_Comm lane_comm;
bool are_open = false, closing = false;

// No thread may block under the lock. The awaited request is already under way.
void await(MPI_Request &request) {
  for (int done = 0; done == 0;)
    if (next.Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
}

void send_notice(int rank, const Notice &notice) {
  while (!notices_in_flight.empty()) {
    int sent = 0;
    next.Test(&notices_in_flight.front().request, &sent, MPI_STATUS_IGNORE);
    if (sent == 0) break;
    notices_in_flight.pop_front();
  }
  SentNotice &last = notices_in_flight.emplace_back(SentNotice{notice, MPI_REQUEST_NULL});
  next.Isend(&last.notice, sizeof last.notice, MPI_BYTE, rank, notice_tag, lane_comm, &last.request);
  notices_sent[rank]++;
}

void await_note(Lane &lane) {
  next.Irecv(&lane.note, sizeof lane.note, MPI_BYTE, lane.source, note_tag(lane.slot), lane_comm,
             lane.requests.data());
}

void await_data(Lane &lane) {
  for (std::size_t i = 0; i < pieces_of(lane.capacity); i++)
    next.Irecv(static_cast<std::byte *>(lane.buffer) + i * piece,
               static_cast<int>(std::min(piece, lane.capacity - i * piece)), MPI_BYTE, lane.source,
               data_tag(lane.slot), lane_comm, &lane.requests[1 + i]);
  send_notice(lane.source, {Word::ready, static_cast<std::uint32_t>(lane.slot), 0});
}

void read_note(Lane &lane) {
  await(lane.requests.front()); // at once where it was read before
  lane.spoilt = lane.note == 0;
}

void send_note(const Key &key, Source &source, std::uint64_t bytes) {
  await(source.requests[0]); // the last one has been read
  source.note = bytes;
  source.ready = false;
  source.spoilt = bytes == 0;
  next.Isend(&source.note, sizeof source.note, MPI_BYTE, key.first, note_tag(key.second), lane_comm,
             source.requests.data());
}

void act(int rank, const Notice &notice) {
  const Key key{rank, notice.slot};
  switch (notice.word) {
  case Word::offer:
    if (closing) return;
    if ((lengths_sent[rank] >> notice.slot & 1U) != 0) {
      send_notice(rank, {Word::refuse, notice.slot, 0});
      return;
    }
    sources[key].capacity = notice.capacity;
    send_notice(rank, {Word::accept, notice.slot, 0});
    return;
  case Word::accept:
    lanes[key].accepted = true;
    await_note(lanes[key]);
    if (!closing) await_data(lanes[key]);
    return;
  case Word::refuse:
    give_back(std::exchange(lanes[key].buffer, nullptr));
    lanes[key].spoilt = true;
    return;
  case Word::ready:
    sources[key].ready = !sources[key].spoilt;
    return;
  }
}

void receive_notice(int rank) {
  Notice notice{};
  MPI_Request request;
  next.Irecv(&notice, sizeof notice, MPI_BYTE, rank, notice_tag, lane_comm, &request);
  await(request);
  notices_received[rank]++;
  act(rank, notice);
}

void receive_pending_notices() {
  for (int there = 1;;) {
    MPI_Status status;
    next.Iprobe(MPI_ANY_SOURCE, notice_tag, lane_comm, &there, &status);
    if (there == 0) return;
    receive_notice(status.MPI_SOURCE);
  }
}

// Receives all notices that were sent before the end. None is answered from then on.
void receive_all_notices() {
  int size = 0;
  real.Comm_size(lane_comm, &size);
  std::vector<int> mine(static_cast<std::size_t>(size)), theirs(mine.size());
  for (const auto &[rank, count] : notices_sent) mine[static_cast<std::size_t>(rank)] = count;
  real.Alltoall(mine.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, lane_comm);
  closing = true;
  for (int rank = 0; rank < size; rank++)
    while (notices_received[rank] < theirs[static_cast<std::size_t>(rank)]) receive_notice(rank);
}

void close_lane(Lane &lane) {
  while (!lane.spoilt) {
    read_note(lane);
    if (lane.spoilt) break;
    wait_until_landed(lane); // a message that the program never received
    await_note(lane);
  }
  for (MPI_Request &request : lane.requests)
    if (request != MPI_REQUEST_NULL) next.Cancel(&request);
  wait_until_landed(lane);
}

// For a lane that had no buffer, and now gets one.
bool revive(Lane &lane, std::uint64_t bytes) {
  if (!lane.accepted || lane.spoilt || lane.buffer != nullptr || lane.capacity < bytes) return false;
  lane.buffer = take_pooled(lane.capacity);
  if (lane.buffer != nullptr) await_data(lane);
  return true;
}

} // namespace

void open_lanes(bool usable) {
  int mine = usable && shm.node->has_other_nodes() ? 1 : 0, all = 0;
  real.Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all != 0) are_open = real.Comm_dup(MPI_COMM_WORLD, &lane_comm) == MPI_SUCCESS;
}

void close_lanes() {
  if (!are_open) return;
  int mine = notices_sent.empty() ? 0 : 1, any = 0;
  real.Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, lane_comm);
  if (any != 0) {
    receive_all_notices();
    for (auto &[key, source] : sources)
      if (!source.spoilt) send_note(key, source, 0);
    for (auto &[key, lane] : lanes)
      if (lane.accepted) close_lane(lane);
    for (auto &[key, source] : sources)
      for (MPI_Request &request : source.requests) await(request);
    for (SentNotice &sent : notices_in_flight) await(sent.request);
  }
  are_open = false;
  real.Comm_free(&lane_comm);
}

int elsewhere(MPI_Comm comm, int rank) {
  if (!are_open || rank < 0) return -1;
  const int world_rank = shm.node->world_rank(comm, rank);
  return world_rank >= 0 && !shm.node->has(world_rank) ? world_rank : -1;
}

Source *send_ahead(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type,
                   const Envelope &envelope) {
  const std::uint64_t bytes = bytes_of(count, type);
  if (mode == Mode::synchronous || mode == Mode::buffered || bytes < shm.options.threshold ||
      !shape_of(type).contiguous)
    return nullptr;
  const int dest = elsewhere(envelope.comm, envelope.dest);
  if (dest < 0) return nullptr;
  receive_pending_notices();
  auto found = sources.end();
  for (auto i = sources.lower_bound({dest, 0}); i != sources.end() && i->first.first == dest; ++i)
    if (i->second.ready && i->second.capacity >= bytes &&
        (found == sources.end() || i->second.capacity < found->second.capacity))
      found = i;
  if (found == sources.end()) return nullptr;
  const auto slot = found->first.second;
  Source &source = found->second;
  send_note(found->first, source, bytes);
  await(source.requests[1]); // the last token has been received
  const Token token{shm.node->mark(), 0,
                    static_cast<std::uint32_t>(shm.node->peer(shm.node->me()).world_rank),
                    static_cast<std::uint32_t>(slot) | by_lane};
  std::memcpy(source.token.data(), &token, sizeof token);
  next.Isend(source.token.data(), static_cast<int>(token_bytes(slot)), MPI_BYTE, envelope.dest, envelope.tag,
             envelope.comm, &source.requests[1]);
  // A piece for each that is waited for, of no bytes where the message has ended before.
  source.pieces.resize(pieces_of(source.capacity));
  const auto *data = static_cast<const std::byte *>(buffer);
  for (std::size_t i = 0; i < source.pieces.size(); i++) {
    const std::size_t begin = std::min<std::size_t>(i * piece, bytes),
                      end = std::min<std::size_t>(begin + piece, bytes);
    next.Isend(data + begin, static_cast<int>(end - begin), MPI_BYTE, dest, data_tag(slot), lane_comm,
               &source.pieces[i]);
  }
  return &source;
}

void spoil_lane(std::size_t slot, const Envelope &envelope) {
  const int dest = elsewhere(envelope.comm, envelope.dest);
  if (dest < 0) return;
  std::uint64_t &sent = lengths_sent[dest];
  if ((sent >> slot & 1U) != 0) return;
  sent |= 1ULL << slot;
  if (const auto found = sources.find({dest, slot}); found != sources.end())
    send_note(found->first, found->second, 0);
}

void offer_lane(int source, std::uint64_t bytes) {
  receive_pending_notices();
  if (arrivals[source]++ % arrivals_a_lane != 0 || bytes > INT32_MAX) return;
  std::uint64_t used = 0;
  for (auto i = lanes.lower_bound({source, 0}); i != lanes.end() && i->first.first == source; ++i) {
    if (revive(i->second, bytes)) return;
    used |= 1ULL << i->first.second;
  }
  if (~used == 0) return;
  void *buffer = take_pooled(bytes);
  if (buffer == nullptr) return;
  // Long ones first: those are the less likely to be a length of the program's.
  const auto slot = static_cast<std::size_t>(63 - std::countl_one(used));
  Lane &lane = lanes[{source, slot}];
  lane.source = source;
  lane.slot = slot;
  lane.capacity = bytes;
  lane.requests.assign(1 + pieces_of(bytes), MPI_REQUEST_NULL);
  lane.buffer = buffer;
  send_notice(source, {Word::offer, static_cast<std::uint32_t>(slot), bytes});
}

std::optional<std::uint64_t> noted_bytes(int source, std::size_t slot) {
  const auto found = lanes.find({source, slot});
  if (found == lanes.end() || !found->second.accepted || found->second.spoilt) return {};
  read_note(found->second); // it was sent before the message, whichever that is
  if (found->second.spoilt) return {};
  return found->second.note;
}

Lane *lane_of(const Token &token) {
  const auto found = lanes.find({static_cast<int>(token.from), token.slot & ~by_lane});
  return found == lanes.end() ? nullptr : &found->second;
}

bool has_landed(Lane &lane) {
  int done = 0;
  next.Testall(static_cast<int>(lane.requests.size()), lane.requests.data(), &done, MPI_STATUSES_IGNORE);
  return done != 0;
}

void wait_until_landed(Lane &lane) {
  for (MPI_Request &request : lane.requests) await(request);
}

bool has_left(Source &source) {
  int done = 0;
  next.Testall(static_cast<int>(source.pieces.size()), source.pieces.data(), &done, MPI_STATUSES_IGNORE);
  return done != 0;
}

Landed landed(const Lane &lane) { return {lane.source, lane.buffer, lane.note}; }

void renew(Lane &lane, void *buffer) {
  lane.buffer = buffer != nullptr ? buffer : take_pooled(lane.capacity);
  await_note(lane);
  if (lane.buffer != nullptr) await_data(lane);
  receive_pending_notices();
}

} // namespace haloscope::shm
