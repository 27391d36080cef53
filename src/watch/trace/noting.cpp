#include "watch/trace/noting.hpp"

#include "watch/posts.hpp"
#include "watch/trace/request_numbers.hpp"

#include <cstring>
#include <utility>

namespace haloscope::watch {

namespace {

std::uint32_t place_of(const Recorder &state, const Node &node) noexcept {
  return static_cast<std::uint32_t>(
      static_cast<std::size_t>(reinterpret_cast<const std::byte *>(&node) - state.arena->base()) /
      trace::node_alignment);
}

void put_part(trace::Ring &ring, trace::Action action, std::uint64_t number, std::uint32_t communicator,
              std::int32_t partner, std::int32_t tag, std::uint64_t size, Function function = {}) noexcept {
  trace::Slot *slot = ring.room(1);
  if (slot == nullptr) {
    ring.lose(trace::begins_request(action));
    return;
  }
  *slot = {number,  size, static_cast<std::uint16_t>(function), trace::Kind::part, action, communicator,
           partner, tag};
  ring.wrote(1);
}

} // namespace

void trace_call(Recorder &state, const TracedCall &call) noexcept {
  trace::Ring &ring = *state.ring;
  trace::Slot *slot = ring.room(2);
  if (slot == nullptr) {
    ring.lose(call.number != 0);
    return;
  }
  slot[0] = {call.begin,        call.size,   static_cast<std::uint16_t>(call.function),
             trace::Kind::call, call.action, call.communicator,
             call.partner,      call.tag};
  const trace::CallRest rest{call.end, call.bytes, call.number, place_of(state, *state.node), 0};
  std::memcpy(&slot[1], &rest, sizeof rest);
  ring.wrote(2);
}

void trace_part(Recorder &state, trace::Action action, std::uint64_t number, std::uint32_t communicator,
                std::int32_t partner, std::int32_t tag, std::uint64_t size, Function function) noexcept {
  put_part(*state.ring, action, number, communicator, partner, tag, size, function);
}

void trace_region(Recorder &state, const Node &node, bool entered, std::uint64_t tick) noexcept {
  trace::Slot *slot = state.ring->room(1);
  if (slot == nullptr) {
    state.ring->lose(false);
    return;
  }
  const trace::Kind kind = entered ? trace::Kind::enter : trace::Kind::leave;
  *slot = {tick, 0, 0, kind, trace::Action::none, place_of(state, node), 0, 0};
  state.ring->wrote(1);
}

std::uint64_t begin_request(ThreadState &state, MPI_Request handle, bool is_send) noexcept {
  if (!has_slot(handle)) return 0;
  std::uint64_t *known = trace::request_numbers.slot(value_of(handle));
  if (known == nullptr) return 0;
  // Sends that have one handle were complete at once, also the first, of which that was not known.
  if constexpr (shares_handles) {
    const Request *slot = is_send ? request_slot(state, handle) : nullptr;
    if (slot != nullptr && slot->has(Request::shared)) {
      if (*known != 0)
        put_part(*state.ring, trace::Action::completed_send, *known, 0, no_number, no_number, 0);
      *known = 0;
      return 0;
    }
  }
  trace::Ring &ring = *state.ring;
  *known = static_cast<std::uint64_t>(ring.thread) << trace::number_bits | ++ring.starts;
  return *known;
}

std::uint64_t number_of(MPI_Request handle) noexcept {
  if (!has_slot(handle)) return 0;
  const std::uint64_t *known = trace::request_numbers.slot(value_of(handle));
  return known == nullptr ? 0 : *known;
}

void trace_match(ThreadState &state, MPI_Message message, std::uint32_t communicator) noexcept {
  std::uint64_t *known = trace::message_numbers.slot(value_of(message));
  if (known == nullptr) return;
  trace::Ring &ring = *state.ring;
  *known = static_cast<std::uint64_t>(ring.thread) << trace::number_bits | ++ring.starts;
  put_part(ring, trace::Action::posted, *known, communicator, no_number, no_number, 0);
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
  using trace::Action;
  if (number == 0 || request.has(Request::shared)) return;
  const auto put = [&](Action action, std::int32_t partner, std::int32_t tag, std::uint64_t size) {
    put_part(*state.ring, action, number, request.communicator, partner, tag, size);
  };
  if (request.has(Request::cancelling) && was_cancelled(status)) {
    put(Action::cancelled, no_number, no_number, 0);
    return;
  }
  switch (request.kind) {
  case Pending::send:
    put(Action::completed_send, no_number, no_number, 0);
    break;
  case Pending::receive:
    if (status.MPI_SOURCE >= 0)
      put(Action::completed_receive, status.MPI_SOURCE, status.MPI_TAG,
          std::min(received_bytes(status), std::uint64_t{request.bytes}));
    break;
  case Pending::partitioned:
    put(Action::completed_receive, request.partner, request.tag, request.bytes);
    break;
  case Pending::collective:
    put(Action::completed_collective, no_number, no_number, 0);
    break;
  default:
    break;
  }
}

} // namespace haloscope::watch
