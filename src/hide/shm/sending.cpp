#include "hide/shm/sending.hpp"

#include "hide/shm/ahead.hpp"
#include "hide/shm/carried.hpp"
#include "hide/shm/copying.hpp"
#include "hide/shm/habits.hpp"
#include "hide/shm/message.hpp"
#include "hide/shm/registering.hpp"
#include "hide/shm/trials.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace haloscope::shm {

namespace {

// The state of a slot until its message was received.
struct Held {
  std::uint64_t sequence = 0;
  void *pooled = nullptr;
  std::size_t bytes = 0;
  MPI_Request token = MPI_REQUEST_NULL;
  bool ended = false;     // the program's send is over
  Trial *trial = nullptr; // wants to know how long it took
  Moment begun = 0, posted = 0;
};
std::array<Held, slot_count> held;
std::array<std::array<std::byte, longest_token>, slot_count> tokens;
std::uint64_t free_slots = ~0ULL;
std::size_t pooled_bytes = 0;

State state_now(const Slot &slot) noexcept { return state_of(slot.state.load(std::memory_order_acquire)); }

void *take_pool(std::size_t bytes) {
  if (bytes > shm.options.pool - pooled_bytes) return nullptr;
  void *found = shm.node->arena().take(bytes, line);
  if (found != nullptr) pooled_bytes += bytes;
  return found;
}

// Whether MPI is done with the token, perhaps by an error.
bool is_sent(Held &slot) {
  int sent = 0;
  if (slot.token == MPI_REQUEST_NULL) return true;
  return next.Test(&slot.token, &sent, MPI_STATUS_IGNORE) != MPI_SUCCESS || sent != 0;
}

// The slot's message was received, or will not be.
bool reap(std::size_t index) {
  Held &slot = held[index];
  Slot &shown = shm.node->desk().slots[index];
  if (!slot.ended || state_now(shown) != State::done) return false;
  if (!is_sent(slot)) return false;
  if (slot.pooled != nullptr) {
    shm.node->arena().give(slot.pooled);
    pooled_bytes -= slot.bytes;
  }
  if (slot.trial != nullptr) add_time(*slot.trial, Way::shm, {slot.begun, slot.posted}, shown.arrival);
  shown.state.store(word(slot.sequence, State::idle), std::memory_order_relaxed);
  slot.pooled = nullptr;
  free_slots |= 1ULL << index;
  return true;
}

// Copies the message to where the receiver finds it without us. `from`: the program's buffer.
bool escape(Slot &shown, Held &slot, const void *from) {
  std::uint64_t expected = word(slot.sequence, State::waiting);
  if (!shown.state.compare_exchange_strong(expected, word(slot.sequence, State::copying),
                                           std::memory_order_acq_rel))
    return false;
  auto *to = static_cast<std::byte *>(slot.pooled);
  if (shown.strided != 0)
    gather(to, static_cast<const std::byte *>(from), shown.layout, slot.bytes);
  else
    copy_bytes(to, static_cast<const std::byte *>(from), slot.bytes);
  shown.pooled = shm.node->place_of(slot.pooled);
  shown.state.store(word(slot.sequence, State::escaped), std::memory_order_release);
  return true;
}

// Returns whether MPI may carry this message of the program, which is as long as a token. No token has this
// length from then on.
bool may_pass(std::size_t index, int peer) {
  Peer &other = shm.node->peer(static_cast<std::size_t>(peer));
  const bool in_flight = (free_slots >> index & 1U) == 0 && shm.node->desk().slots[index].to == peer &&
                         state_now(shm.node->desk().slots[index]) != State::done;
  if (in_flight) return false;
  other.poisoned |= 1ULL << index;
  return true;
}

// Why MPI gets a message of at least the threshold, as far as that shows before one tries.
std::optional<Reason> why_passed(Mode mode, const void *buffer, std::uint64_t bytes, bool contiguous,
                                 int peer) {
  if (peer < 0) return Reason::node;
  if (mode == Mode::buffered) return Reason::buffered;
  // MPI packs messages that are not in loops. It cannot do so for absolute addresses or more bytes than an
  // `int` holds.
  if (!contiguous)
    return buffer == nullptr || bytes > INT32_MAX || !packs_types() ? std::optional{Reason::datatype}
                                                                    : std::nullopt;
  const bool reachable =
      shared_place(buffer, bytes) || (shm.options.cma == Attach::always && shm.node->may_attach());
  return reachable ? std::optional<Reason>{} : Reason::memory;
}

} // namespace

void reap() {
  for (std::uint64_t taken = ~free_slots; taken != 0; taken &= taken - 1)
    reap(static_cast<std::size_t>(std::countr_zero(taken)));
}

bool any_under_way() {
  reap();
  return free_slots != ~0ULL;
}

int post_to_mpi(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type, const Envelope &envelope,
                MPI_Request *handle) {
  const auto post = mode == Mode::synchronous ? next.Issend : mode == Mode::ready ? next.Irsend : next.Isend;
  return post(buffer, static_cast<int>(count), type, envelope.dest, envelope.tag, envelope.comm, handle);
}

void pass_token_length(MPI_Count count, MPI_Datatype type, const Envelope &envelope) {
  const int index = slot_of(bytes_of(count, type));
  if (index < 0 || envelope.dest < 0) return;
  const int peer = shm.node->find(envelope.comm, envelope.dest);
  if (peer < 0) spoil_lane(static_cast<std::size_t>(index), envelope);
  if (peer >= 0) shm.node->peer(static_cast<std::size_t>(peer)).poisoned |= 1ULL << index;
}

namespace {

// Whether a large message is the shm library's; if MPI's, it is noted why.
bool is_ours(Mode mode, const Message &message, Trial *&trial) {
  std::optional<Reason> why =
      why_passed(mode, message.buffer, message.bytes, message.contiguous, message.peer);
  const auto peer = static_cast<std::size_t>(message.peer);
  if (!why && comes_late(shm.node->peer(peer))) why = Reason::late;
  if (!why) {
    const Turn turn = next_turn(peer, message.bytes, !message.contiguous);
    trial = turn.trial;
    if (turn.way == Way::shm) return true;
    if (trial != nullptr) announce(*trial, peer, message.envelope.tag, message.bytes);
    why = turn.decided ? Reason::faster : Reason::tried;
  }
  note_passed(*why, message.bytes);
  return false;
}

} // namespace

bool begin_send(Request &request, Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type,
                const Envelope &envelope) {
  const Shape shape = shape_of(type);
  const std::uint64_t bytes = bytes_of(count, shape);
  const int reserved = slot_of(bytes);
  if (envelope.dest < 0 || count < 0) return false;
  request.ahead = send_ahead(mode, buffer, count, type, envelope);
  if (request.ahead != nullptr) {
    request.kind = Request::Kind::send;
    request.comm = envelope.comm;
    return true;
  }
  const bool large = is_large(count, shape) && shm.options.protocol != Choice::off;
  if (!large && reserved < 0) return false;
  const int peer = shm.node->find(envelope.comm, envelope.dest);
  const Message message{buffer, count, type, envelope, bytes, shape.contiguous, peer};
  Trial *trial = nullptr;
  if (large && !is_ours(mode, message, trial)) return false;
  const Moment begun = trial != nullptr ? now() : 0;
  if (!large && peer < 0) spoil_lane(static_cast<std::size_t>(reserved), envelope);
  if (!large && (peer < 0 || may_pass(static_cast<std::size_t>(reserved), peer))) return false;

  reap();
  Peer &other = shm.node->peer(static_cast<std::size_t>(peer));
  const std::uint64_t suitable = large ? ~small_slots : (1ULL << reserved) - 1;
  const std::uint64_t usable = free_slots & ~other.poisoned & suitable;
  void *pooled = usable == 0 ? nullptr : take_pool(bytes);
  if (pooled == nullptr) {
    // Without a token for a message that looks like one, a probe may return the size of a different message.
    // The data are correct all the same.
    if (!large)
      other.poisoned |= 1ULL << reserved;
    else
      note_passed(Reason::pool, bytes);
    return false;
  }
  const auto index = static_cast<std::size_t>(std::countr_zero(usable));
  free_slots &= ~(1ULL << index);
  Held &slot = held[index];
  slot = {slot.sequence + 1, pooled, bytes, MPI_REQUEST_NULL, false, trial, begun, 0};

  Slot &shown = shm.node->desk().slots[index];
  const bool waits = lay_out(shown, pooled, message, !large);
  shown.state.store(word(slot.sequence, waits ? State::waiting : State::escaped), std::memory_order_release);
  const Token token{shm.node->mark(), slot.sequence, static_cast<std::uint32_t>(shm.node->me()),
                    static_cast<std::uint32_t>(index)};
  std::memcpy(tokens[index].data(), &token, sizeof token);
  // The completion of a synchronous token shows when it was matched.
  const int posted = post_to_mpi(mode == Mode::synchronous ? mode : Mode::standard, tokens[index].data(),
                                 static_cast<MPI_Count>(token_bytes(index)), MPI_BYTE, envelope, &slot.token);
  if (posted != MPI_SUCCESS) { // the program's own call gets the error, too
    slot.token = MPI_REQUEST_NULL;
    slot.trial = nullptr;
    slot.ended = true;
    shown.state.store(word(slot.sequence, State::done), std::memory_order_release);
    reap(index);
    return false;
  }
  if (trial != nullptr) slot.posted = now();

  request.kind = Request::Kind::send;
  request.mode = mode;
  request.buffer = const_cast<void *>(buffer);
  request.comm = envelope.comm;
  request.peer = peer;
  request.slot = static_cast<int>(index);
  request.large = waits;
  if (waits) expect_from(static_cast<std::size_t>(peer));
  return true;
}

namespace {

// A receiver that is in a call which looks at nothing is waited for as long as a copy takes.
Moment patience_with(const Request &request, std::uint64_t bytes) {
  constexpr Moment least = 2000;
  constexpr std::uint64_t bytes_a_nanosecond = 8;
  if (request.cancelled) return 0;
  const Desk &desk = *shm.node->peer(static_cast<std::size_t>(request.peer)).desk;
  if (desk.away.load(std::memory_order_relaxed) == 0) return shm.options.patience;
  return std::min(shm.options.patience, least + static_cast<Moment>(bytes / bytes_a_nanosecond));
}

// A synchronous send is complete when MPI has given its token to a receive.
bool is_matched(const Request &request, Held &slot) {
  return request.mode != Mode::synchronous || request.cancelled || is_sent(slot);
}

} // namespace

bool poll_send(Request &request) {
  const auto index = static_cast<std::size_t>(request.slot);
  Slot &shown = shm.node->desk().slots[index];
  const State state = state_now(shown);
  if (state == State::done) {
    note_outcome(shm.node->peer(static_cast<std::size_t>(request.peer)), false);
    return true;
  }
  if (state == State::escaped || state == State::taken) return is_matched(request, held[index]);
  if (state == State::claimed) {
    constexpr Moment suspicious = 100'000'000;
    if (request.started == 0) request.started = now();
    return now() - request.started > suspicious && !shm.node->lives(static_cast<std::size_t>(request.peer));
  }
  if (!is_matched(request, held[index])) return false;
  if (request.started == 0) request.started = now();
  if (now() - request.started < patience_with(request, held[index].bytes)) return false;
  if (!escape(shown, held[index], request.buffer)) return false;
  note(Protocol::escape, shm.node->peer(static_cast<std::size_t>(request.peer)).world_rank, held[index].bytes,
       {Protocol::escape, 1, 0}, 0);
  note_outcome(shm.node->peer(static_cast<std::size_t>(request.peer)), true);
  return true;
}

void release_slot(Request &request) {
  const auto index = static_cast<std::size_t>(request.slot);
  held[index].ended = true;
  if (request.large) expect_no_more_from(static_cast<std::size_t>(request.peer));
  reap(index);
}

Request *begin_send(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type,
                    const Envelope &envelope) {
  Request *request = make_request();
  if (begin_send(*request, mode, buffer, count, type, envelope)) return request;
  drop(request);
  return nullptr;
}

bool would_carry(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type,
                 const Envelope &envelope) {
  const Shape shape = shape_of(type);
  const std::uint64_t bytes = bytes_of(count, shape);
  return envelope.dest >= 0 && count > 0 && count <= INT32_MAX && is_large(count, shape) &&
         shm.options.protocol != Choice::off &&
         !why_passed(mode, buffer, bytes, shape.contiguous, shm.node->find(envelope.comm, envelope.dest));
}

} // namespace haloscope::shm
