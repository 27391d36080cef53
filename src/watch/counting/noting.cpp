#include "watch/counting/noting.hpp"

#include "watch/counting/posts.hpp"
#include "watch/trace/request_numbers.hpp"

#include <cstring>
#include <utility>

namespace haloscope::watch {

namespace {

std::uint32_t place_of(const Recorder &state, const Node &node) noexcept {
  return static_cast<std::uint32_t>(
      static_cast<std::size_t>(reinterpret_cast<const std::byte *>(&node) - state.arena->base()) /
      node_alignment);
}

void put_part(TraceRing &ring, MessageAction action, std::uint64_t number, std::uint32_t communicator,
              std::int32_t partner, std::int32_t tag, std::uint64_t size, Function function = {}) noexcept {
  TraceUnit *to = ring.room(2);
  if (to == nullptr) {
    ring.lose(begins_request(action));
    return;
  }
  const UnitDetails details{partner, tag, static_cast<std::uint32_t>(size),
                            static_cast<std::uint32_t>(size >> 32U)};
  to[0] = {number, UnitType::part, action, static_cast<std::uint16_t>(function), communicator};
  std::memcpy(&to[1], &details, sizeof details);
  ring.wrote(2);
}

// A completed request without further information.
void put_short_part(TraceRing &ring, MessageAction action, std::uint64_t number,
                    std::uint32_t communicator) noexcept {
  TraceUnit *to = ring.room(1);
  if (to == nullptr) {
    ring.lose(false);
    return;
  }
  to[0] = {number, UnitType::short_part, action, 0, communicator};
  ring.wrote(1);
}

// A call that does not fit into two units, or the first call in its region.
[[gnu::noinline]] void put_long_call(Recorder &state, const TracedCall &call, std::uint64_t size) noexcept {
  TraceRing &ring = *state.ring;
  TraceUnit *to = ring.room(4);
  if (to == nullptr) {
    ring.lose(begins_request(call.action));
    return;
  }
  to[0] = {0, UnitType::place, MessageAction::none, 0, place_of(state, *state.node)};
  ring.place = state.node;
  const UnitDetails details{call.partner, call.tag, static_cast<std::uint32_t>(size),
                            static_cast<std::uint32_t>(size >> 32U)};
  const LongCallRest rest{call.end, call.bytes};
  to[1] = {call.begin, UnitType::long_call, call.action, static_cast<std::uint16_t>(call.function),
           call.communicator};
  std::memcpy(&to[2], &details, sizeof details);
  std::memcpy(&to[3], &rest, sizeof rest);
  ring.wrote(4);
}

} // namespace

void trace_call(Recorder &state, const TracedCall &call) noexcept {
  TraceRing &ring = *state.ring;
  const std::uint64_t size = call.action == MessageAction::none ? call.bytes : call.size;
  const std::uint64_t duration = call.end - call.begin;
  const bool is_usual = ((size | duration) >> 32U) == 0 && call.bytes == usual_bytes(call.action, size);
  if (__builtin_expect(!is_usual, 0)) {
    put_long_call(state, call, size);
    return;
  }
  TraceUnit *to = ring.room(3);
  if (__builtin_expect(to == nullptr, 0)) {
    ring.lose(begins_request(call.action));
    return;
  }
  if (__builtin_expect(ring.place != state.node, 0)) {
    *to++ = {0, UnitType::place, MessageAction::none, 0, place_of(state, *state.node)};
    ring.place = state.node;
    ring.next++;
  }
  to[0] = {call.begin, UnitType::call, call.action, static_cast<std::uint16_t>(call.function),
           call.communicator};
  const UnitDetails details{call.partner, call.tag, static_cast<std::uint32_t>(size),
                            static_cast<std::uint32_t>(duration)};
  std::memcpy(&to[1], &details, sizeof details);
  ring.wrote(2);
}

void trace_part(Recorder &state, MessageAction action, std::uint64_t number, std::uint32_t communicator,
                std::int32_t partner, std::int32_t tag, std::uint64_t size, Function function) noexcept {
  put_part(*state.ring, action, number, communicator, partner, tag, size, function);
}

void trace_region(Recorder &state, const Node &node, bool entered, std::uint64_t tick) noexcept {
  TraceRing &ring = *state.ring;
  TraceUnit *to = ring.room(1);
  if (to == nullptr) {
    ring.lose(false);
    return;
  }
  to[0] = {tick, entered ? UnitType::enter : UnitType::leave, MessageAction::none, 0, place_of(state, node)};
  ring.wrote(1);
}

std::uint64_t begin_request(ThreadState &state, MPI_Request handle, bool is_send) noexcept {
  if (!has_slot(handle)) return 0;
  std::uint64_t *known = trace::request_numbers.slot(value_of(handle), state.recent_numbers);
  if (known == nullptr) return 0;
  // Sends that have one handle were complete at once, also the first, of which that was not known.
  if constexpr (shares_handles) {
    const Request *slot = is_send ? request_slot(state, handle) : nullptr;
    if (slot != nullptr && slot->has(Request::shared)) {
      if (*known != 0) put_short_part(*state.ring, MessageAction::completed_send, *known, 0);
      *known = 0;
      return 0;
    }
  }
  TraceRing &ring = *state.ring;
  *known = static_cast<std::uint64_t>(ring.thread) << trace::number_bits | ++ring.starts;
  return *known;
}

std::uint64_t number_of(ThreadState &state, MPI_Request handle) noexcept {
  if (!has_slot(handle)) return 0;
  const std::uint64_t *known = trace::request_numbers.slot(value_of(handle), state.recent_numbers);
  return known == nullptr ? 0 : *known;
}

void trace_match(ThreadState &state, MPI_Message message, std::uint32_t communicator) noexcept {
  std::uint64_t *known = trace::message_numbers.slot(value_of(message));
  if (known == nullptr) return;
  TraceRing &ring = *state.ring;
  *known = static_cast<std::uint64_t>(ring.thread) << trace::number_bits | ++ring.starts;
  put_part(ring, MessageAction::posted, *known, communicator, no_number, no_number, 0);
}

std::uint64_t number_of_match(MPI_Message message) noexcept {
  if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) return 0;
  std::uint64_t *known = trace::message_numbers.slot(value_of(message));
  return known == nullptr ? 0 : std::exchange(*known, 0);
}

bool hand_on(std::uint64_t number, MPI_Request handle) noexcept {
  std::uint64_t *known =
      has_slot(handle) && number != 0 ? trace::request_numbers.slot(value_of(handle)) : nullptr;
  if (known != nullptr) *known = number;
  return known != nullptr;
}

void trace_completion(ThreadState &state, std::uint64_t number, const Request &request,
                      const MPI_Status &status) noexcept {
  if (number == 0 || request.has(Request::shared)) return;
  const auto put = [&](MessageAction action, std::int32_t partner, std::int32_t tag, std::uint64_t size) {
    put_part(*state.ring, action, number, request.communicator, partner, tag, size);
  };
  const auto put_short = [&](MessageAction action) {
    put_short_part(*state.ring, action, number, request.communicator);
  };
  if (request.has(Request::cancelling) && was_cancelled(status)) {
    put_short(MessageAction::cancelled);
    return;
  }
  switch (request.kind) {
  case Pending::send:
    put_short(MessageAction::completed_send);
    break;
  case Pending::receive:
    if (status.MPI_SOURCE >= 0)
      put(MessageAction::completed_receive, status.MPI_SOURCE, status.MPI_TAG,
          std::min(received_bytes(status), std::uint64_t{request.bytes}));
    break;
  case Pending::partitioned:
    put(MessageAction::completed_receive, request.partner, request.tag, request.bytes);
    break;
  case Pending::collective:
    put_short(MessageAction::completed_collective);
    break;
  default:
    break;
  }
}

} // namespace haloscope::watch
