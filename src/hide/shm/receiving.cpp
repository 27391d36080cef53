#include "hide/shm/receiving.hpp"

#include "hide/shm/ahead.hpp"
#include "hide/shm/carried.hpp"
#include "hide/shm/contents.hpp"
#include "hide/shm/copying.hpp"
#include "hide/shm/prefix.hpp"
#include "hide/shm/sending.hpp"
#include "hide/shm/trials.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <sched.h>
#include <utility>

namespace haloscope::shm {

namespace {

std::uint64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  real.Type_size_x(type, &size);
  return static_cast<std::uint64_t>(size);
}

// Elements of a receive's type, from bytes that lie one after the other, or into them.
void convert(const Request &request, std::uint64_t first, std::uint64_t count, std::byte *bytes, bool packs) {
  std::byte *place =
      static_cast<std::byte *>(request.buffer) + static_cast<std::int64_t>(first) * extent_of(request.type);
  const int size = static_cast<int>(count * size_of(request.type)), elements = static_cast<int>(count);
  int position = 0;
  if (place == nullptr) { // MPI_BOTTOM, which MPICH's MPI_Unpack refuses: a message to ourselves
    const MPI_Comm comm = shm.node->comm();
    const int me = static_cast<int>(shm.node->me());
    if (packs)
      real.Sendrecv(place, elements, request.type, me, 1, bytes, size, MPI_BYTE, me, 1, comm,
                    MPI_STATUS_IGNORE);
    else
      real.Sendrecv(bytes, size, MPI_BYTE, me, 1, place, elements, request.type, me, 1, comm,
                    MPI_STATUS_IGNORE);
    return;
  }
  if (packs)
    real.Pack(place, elements, request.type, bytes, size, &position, MPI_COMM_WORLD);
  else
    real.Unpack(bytes, size, &position, place, elements, request.type, MPI_COMM_WORLD);
}

// The first `bytes` of an element. Its other memory is not touched.
void pass_part(const Request &request, std::uint64_t element, std::uint64_t bytes, std::byte *data,
               bool packs) {
  std::byte *place =
      static_cast<std::byte *>(request.buffer) + static_cast<std::int64_t>(element) * extent_of(request.type);
  if (Prefix{packs ? Prefix::Direction::pack : Prefix::Direction::unpack, data, bytes}.pass(request.type,
                                                                                            place, 1))
    return;
  const std::uint64_t size = size_of(request.type); // an unknown constructor
  const auto whole = std::make_unique<std::byte[]>(size);
  convert(request, element, 1, whole.get(), true);
  std::memcpy(packs ? data : whole.get(), packs ? whole.get() : data, bytes);
  if (!packs) convert(request, element, 1, whole.get(), false);
}

// Bytes of a message go where a type of the program has holes.
void spread(const Request &request, std::byte *data, std::uint64_t bytes) {
  if (request.layout) {
    scatter(static_cast<std::byte *>(request.buffer), *request.layout, data, bytes);
    return;
  }
  const std::uint64_t size = size_of(request.type), whole = bytes / size, rest = bytes % size;
  const std::uint64_t at_once = std::max<std::uint64_t>(1, (std::uint64_t{1} << 30U) / size);
  for (std::uint64_t i = 0; i < whole; i += at_once)
    convert(request, i, std::min(at_once, whole - i), data + i * size, false);
  if (rest > 0) pass_part(request, whole, rest, data + whole * size, false);
}

// A message of a token's length: whether it is one.
std::optional<Token> read_token(const Request &request, std::uint64_t received) {
  const int slot = slot_of(received);
  if (slot < 0) return {};
  Token token{};
  if (request.contiguous || request.bounce != nullptr) {
    std::memcpy(&token, request.contiguous ? request.buffer : request.bounce, sizeof token);
  } else if (request.layout) {
    gather(reinterpret_cast<std::byte *>(&token), static_cast<std::byte *>(request.buffer), *request.layout,
           sizeof token);
  } else {
    const std::size_t size = size_of(request.type), whole = sizeof token / size, rest = sizeof token % size;
    auto *const data = reinterpret_cast<std::byte *>(&token);
    if (whole > 0) convert(request, 0, whole, data, true);
    if (rest > 0) pass_part(request, whole, rest, data + whole * size, true);
  }
  const Node &node = *shm.node;
  const bool ours = token.mark == node.mark() && (token.slot & ~by_lane) == static_cast<std::uint32_t>(slot);
  if (!ours || (token.from >= node.ranks() && (token.slot & by_lane) == 0)) return {};
  return token;
}

struct Claimed {
  Place place;
  const Layout *layout; // null: it lies in one piece
};

// From where to take the message; nothing if its sender died in the midst of copying it.
std::optional<Claimed> claim(Slot &slot, const Token &token) {
  for (unsigned spins = 1;; spins++) {
    std::uint64_t seen = word(token.sequence, State::waiting);
    if (slot.state.compare_exchange_strong(seen, word(token.sequence, State::claimed),
                                           std::memory_order_acq_rel))
      return Claimed{{token.from, slot.place, slot.mapped != 0}, slot.strided != 0 ? &slot.layout : nullptr};
    if (seen == word(token.sequence, State::escaped) &&
        slot.state.compare_exchange_strong(seen, word(token.sequence, State::taken),
                                           std::memory_order_acq_rel))
      return Claimed{{token.from, slot.pooled, true}, nullptr};
    if (seen >> 3U != token.sequence) return {};
    if (shm.node->crowded() || spins % 4096 == 0) sched_yield();
    if (spins % 100'000 == 0 && !shm.node->lives(token.from)) return {};
  }
}

// Straight from where it is to where it belongs, if that can be.
bool take_blocks(const Request &request, const Claimed &claimed, std::uint64_t bytes) {
  if (!claimed.place.mapped || !(request.contiguous || request.layout)) return false;
  const std::byte *from = shm.node->at(claimed.place.rank, claimed.place.place);
  const Layout whole = one_block(static_cast<std::int64_t>(bytes));
  return move(static_cast<std::byte *>(request.buffer), request.contiguous ? whole : *request.layout, from,
              claimed.layout != nullptr ? *claimed.layout : whole, bytes);
}

// The same by way of memory in which it lies in one piece.
Copied take_by_piece(const Request &request, const Claimed &claimed, std::uint64_t bytes, bool receiving) {
  const std::unique_ptr<std::byte[]> own{request.bounce == nullptr ? new std::byte[bytes] : nullptr};
  std::byte *data = own ? own.get() : request.bounce;
  Copied how;
  if (claimed.layout != nullptr)
    gather(data, shm.node->at(claimed.place.rank, claimed.place.place), *claimed.layout, bytes);
  else
    how = fetch(data, claimed.place, bytes, receiving);
  spread(request, data, bytes);
  return how;
}

void take(Request &request, const Token &token) {
  const Moment begin = now();
  Slot &slot = shm.node->peer(token.from).desk->slots[token.slot];
  const auto claimed = claim(slot, token);
  request.was_token = true;
  request.sent = claimed ? slot.bytes : 0;
  request.lost = !claimed;
  if (!claimed) return;
  const std::uint64_t bytes = std::min<std::uint64_t>(slot.bytes, request.capacity);
  Copied how;
  const bool receiving = slot.receiving != 0;
  if (request.contiguous && claimed->layout == nullptr && slot.packed == 0)
    how = fetch(static_cast<std::byte *>(request.buffer), claimed->place, bytes, receiving);
  else if (!take_blocks(request, *claimed, bytes))
    how = take_by_piece(request, *claimed, bytes, receiving);
  if (slot.packed != 0) how.protocol = Protocol::pack;
  request.lost = is_gone(claimed->place);
  const Moment end = now();
  slot.arrival = {request.asked, end};
  slot.state.store(word(token.sequence, State::done), std::memory_order_release);
  note(how.protocol, shm.node->peer(token.from).world_rank, bytes, how, end - begin);
}

// Takes a message from its lane, with the buffer if the program wants one of the library's.
void land(Request &request) {
  Lane &lane = *std::exchange(request.lane, nullptr);
  const Landed found = landed(lane);
  const std::uint64_t bytes = std::min<std::uint64_t>(found.bytes, request.capacity);
  request.was_token = true;
  request.sent = found.bytes;
  if (request.lent && request.contiguous && found.bytes <= request.capacity) {
    give_back(request.buffer);
    request.buffer = found.buffer;
    renew(lane, nullptr);
  } else {
    if (request.contiguous)
      std::memcpy(request.buffer, found.buffer, bytes);
    else
      spread(request, static_cast<std::byte *>(found.buffer), bytes);
    renew(lane, found.buffer);
  }
  note(Protocol::ahead, found.source, bytes, {Protocol::ahead, 1, 0}, now() - request.started);
}

// MPI has completed the receive. A message from another node may still be on its way then.
void arrive(Request &request, const MPI_Status &status) {
  if (request.cancelled && interpose::was_cancelled(status)) return;
  const std::uint64_t bytes = interpose::received_bytes(status);
  const auto token = read_token(request, bytes);
  if (token && (token->slot & by_lane) != 0) {
    request.lane = lane_of(*token);
    request.started = now();
  } else if (token) {
    take(request, *token);
  } else {
    if (request.bounce != nullptr) spread(request, request.bounce, bytes);
    if (bytes < shm.threshold_with_holes) return;
    answer(request.comm, status, bytes, {request.asked, now()});
    if (bytes >= shm.options.threshold && request.source >= 0) offer_lane(request.source, bytes);
  }
}

} // namespace

namespace {

// Whether it has its data, or an error.
bool ask(Request &request) {
  if (request.asked == 0) request.asked = now();
  if (request.lane == nullptr) {
    int done = 0;
    MPI_Status status;
    if (next.Request_get_status(request.handle, &done, &status) != MPI_SUCCESS) return true;
    if (done == 0) return false;
    arrive(request, status);
    request.seen = status;
    request.was_seen = true;
  }
  if (request.lane != nullptr) {
    if (!has_landed(*request.lane)) return false;
    land(request);
  }
  request.there = true;
  return true;
}

} // namespace

bool poll_receive(Request &request) {
  if (request.there) return true;
  if (!ask(request)) return false;
  remove_pending(request);
  return true;
}

int end_receive(Request &request, MPI_Status &status) {
  remove_pending(request);
  if (!request.there) {
    if (request.lane == nullptr) arrive(request, status);
    if (request.lane != nullptr) {
      wait_until_landed(*request.lane);
      land(request);
    }
  }
  if (request.persistent && request.was_seen) {
    const int error = status.MPI_ERROR;
    status = request.seen;
    status.MPI_ERROR = error;
  }
  if (request.lent) lend(request.buffer, status);
  if (!request.was_token) return MPI_SUCCESS;
  real.Status_set_elements_x(&status, MPI_BYTE, static_cast<MPI_Count>(request.sent));
  if (request.lost) return MPI_ERR_OTHER;
  return request.sent > request.capacity ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

int receive_now(const Target &target, MPI_Status &status, std::byte *bounce) {
  Request *request = make_request(target);
  request->bounce = bounce;
  const int result = end_receive(*request, status);
  drop(request);
  return result;
}

void correct_probe(MPI_Comm comm, MPI_Status *status) {
  const int index = slot_of(interpose::received_bytes(*status));
  if (index < 0) return;
  Node &node = *shm.node;
  const int from = node.find(comm, status->MPI_SOURCE), source = elsewhere(comm, status->MPI_SOURCE);
  if (source >= 0) {
    if (const auto bytes = noted_bytes(source, static_cast<std::size_t>(index)))
      real.Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(*bytes));
    return;
  }
  if (from < 0) return;
  const Slot &slot = node.peer(static_cast<std::size_t>(from)).desk->slots[index];
  const State state = state_of(slot.state.load(std::memory_order_acquire));
  if (slot.to != static_cast<std::int32_t>(node.me()) ||
      (state != State::waiting && state != State::copying && state != State::escaped))
    return;
  real.Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(slot.bytes));
}

} // namespace haloscope::shm
