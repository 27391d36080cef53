// Collective operations: how many bytes are a rank's own, and the blocking, non-blocking and
// persistent forms.
#pragma once

#include "watch/counting/passing.hpp"
#include "watch/counting/point_to_point.hpp"

#include <algorithm>
#include <type_traits>

namespace haloscope::watch {

inline void count_flow(ThreadState &state, const Communicator &communicator, const Flow &flow) noexcept {
  Traffic &traffic = partner_of(state, communicator, flow.rank).neighbor;
  if (flow.outgoing)
    add_sends(traffic, 1, flow.bytes);
  else
    add_receives(traffic, 1, flow.bytes);
}

// The rules for a collective's bytes: those of the rank's own send argument (design: tables).
struct Collective {
  ThreadState &state;
  const Communicator &communicator;
  MPI_Comm comm;
  std::vector<Flow> *kept = nullptr; // by persistent operations, which count when they start

  [[nodiscard]] std::uint32_t peers() const noexcept {
    return communicator.inter ? communicator.remote_size : communicator.size;
  }
  [[nodiscard]] bool is_root(int root) const noexcept {
    return communicator.inter ? root == MPI_ROOT : root == communicator.rank;
  }
  // Between two groups, that side contributes nothing.
  [[nodiscard]] bool is_on_side_of_root(int root) const noexcept {
    return communicator.inter && (root == MPI_PROC_NULL || root == MPI_ROOT);
  }
  template <class Count> std::uint64_t bytes(Count count, MPI_Datatype datatype) const noexcept {
    return payload(state, count, datatype);
  }
  template <class Counts>
  std::uint64_t sum(std::uint32_t parts, Counts counts, MPI_Datatype datatype) const noexcept {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < parts; i++) total += bytes(counts[i], datatype);
    return total;
  }
  // `datatypes`: an array, or the converted array of a Fortran call.
  template <class Counts, class Datatypes>
  std::uint64_t sum(std::uint32_t parts, Counts counts, Datatypes datatypes) const noexcept {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < parts; i++)
      if (counts[i] > 0) total += bytes(counts[i], datatypes[i]);
    return total;
  }

  [[nodiscard]] static std::uint64_t nothing() noexcept { return 0; }
  template <class Count> std::uint64_t all(Count count, MPI_Datatype datatype) const noexcept {
    return bytes(count, datatype);
  }
  template <class Count>
  std::uint64_t broadcast(Count count, MPI_Datatype datatype, int root) const noexcept {
    return root == MPI_PROC_NULL ? 0 : bytes(count, datatype);
  }
  template <class Count> std::uint64_t reduce(Count count, MPI_Datatype datatype, int root) const noexcept {
    return is_on_side_of_root(root) ? 0 : bytes(count, datatype);
  }
  template <class Counts> std::uint64_t each_of(Counts counts, MPI_Datatype datatype) const noexcept {
    return sum(communicator.size, counts, datatype);
  }
  template <class Count> std::uint64_t each(Count count, MPI_Datatype datatype) const noexcept {
    return communicator.size * bytes(count, datatype);
  }
  template <class Count>
  std::uint64_t gather(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, Count recvcount,
                       MPI_Datatype recvtype, int root) const noexcept {
    if (is_on_side_of_root(root)) return 0;
    return sendbuf == MPI_IN_PLACE && is_root(root) ? bytes(recvcount, recvtype) : bytes(sendcount, sendtype);
  }
  template <class Count, class Counts>
  std::uint64_t gather_v(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, Counts recvcounts,
                         MPI_Datatype recvtype, int root) const noexcept {
    if (is_on_side_of_root(root)) return 0;
    return sendbuf == MPI_IN_PLACE && is_root(root) ? bytes(recvcounts[communicator.rank], recvtype)
                                                    : bytes(sendcount, sendtype);
  }
  template <class Count>
  std::uint64_t contribution(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, Count recvcount,
                             MPI_Datatype recvtype) const noexcept {
    return sendbuf == MPI_IN_PLACE ? bytes(recvcount, recvtype) : bytes(sendcount, sendtype);
  }
  template <class Count, class Counts>
  std::uint64_t contribution_v(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, Counts recvcounts,
                               MPI_Datatype recvtype) const noexcept {
    return sendbuf == MPI_IN_PLACE ? bytes(recvcounts[communicator.rank], recvtype)
                                   : bytes(sendcount, sendtype);
  }
  template <class Count>
  std::uint64_t scatter(Count sendcount, MPI_Datatype sendtype, int root) const noexcept {
    return is_root(root) ? peers() * bytes(sendcount, sendtype) : 0;
  }
  template <class Counts>
  std::uint64_t scatter_v(Counts sendcounts, MPI_Datatype sendtype, int root) const noexcept {
    return is_root(root) ? sum(peers(), sendcounts, sendtype) : 0;
  }
  template <class Count>
  std::uint64_t exchange(const void *sendbuf, Count sendcount, MPI_Datatype sendtype, Count recvcount,
                         MPI_Datatype recvtype) const noexcept {
    return peers() * contribution(sendbuf, sendcount, sendtype, recvcount, recvtype);
  }
  template <class Counts, class Datatypes>
  std::uint64_t exchange_v(const void *sendbuf, Counts sendcounts, Datatypes sendtype, Counts recvcounts,
                           Datatypes recvtype) const noexcept {
    return sendbuf == MPI_IN_PLACE ? sum(peers(), recvcounts, recvtype) : sum(peers(), sendcounts, sendtype);
  }
  // Sends and receives the same amount per neighbour, or the amounts in the arrays.
  template <class SendCounts, class SendTypes, class RecvCounts, class RecvTypes>
  std::uint64_t neighbors(SendCounts sendcounts, SendTypes sendtypes, RecvCounts recvcounts,
                          RecvTypes recvtypes) const {
    std::uint64_t total = 0;
    const Neighbors *around = neighbors_of(state, comm);
    if (around == nullptr) return 0;
    for (std::uint32_t i = 0; i < around->destinations.size(); i++) {
      if (around->destinations[i] == MPI_PROC_NULL) continue;
      const std::uint64_t part = bytes(element(sendcounts, i), element(sendtypes, i));
      total += part;
      flow({around->destinations[i], true, part});
    }
    for (std::uint32_t i = 0; i < around->sources.size(); i++)
      if (around->sources[i] != MPI_PROC_NULL)
        flow({around->sources[i], false, bytes(element(recvcounts, i), element(recvtypes, i))});
    return total;
  }
  template <class T> static auto element(const T &argument, std::uint32_t i) noexcept {
    if constexpr (requires { argument[i]; } && !std::is_same_v<T, MPI_Datatype>)
      return argument[i];
    else
      return argument;
  }
  void flow(const Flow &of) const {
    if (kept != nullptr)
      kept->push_back(of);
    else
      count_flow(state, communicator, of);
  }
};

// Puts a barrier before one call per interval on a communicator. Returns the time in it, weighted by the
// interval.
[[gnu::noinline, gnu::cold]] std::uint64_t wait_for_others(MPI_Comm comm) noexcept;
// The same by a thread that does not record: those that do count on it.
[[gnu::noinline, gnu::cold]] void let_others_wait(MPI_Comm comm) noexcept;

// The part that a rank takes in one, in the trace.
[[gnu::noinline]] inline void trace_collective(ThreadState &state, const Invocation &invoked, Stamps stamps,
                                               const CommunicatorUse *use, std::uint64_t bytes,
                                               const MPI_Request *request) noexcept {
  const std::uint64_t number =
      request == nullptr || use == nullptr ? 0 : begin_request(state, *request, false);
  trace_call(state, {.function = invoked,
                     .begin = stamps.begin,
                     .end = stamps.end,
                     .bytes = bytes,
                     .action = use == nullptr ? MessageAction::none
                               : number == 0  ? MessageAction::collective
                                              : MessageAction::begun_collective,
                     .communicator = use == nullptr ? 0 : use->communicator->number,
                     .partner = invoked.partner,
                     .size = bytes});
}

// Blocking ones and, with `request`, others. `then` gets the communicator and the bytes.
template <class Rule, class Call, class Then>
[[gnu::always_inline]] inline int collective_call(const Invocation &invoked, MPI_Comm comm, Rule &&rule,
                                                  const MPI_Request *request, Call &&call, Then &&then) {
  const bool waits = request == nullptr;
  const Entry state{invoked};
  const bool synchronized = __builtin_expect(waits && global().sync_collectives != 0, 0);
  if (!state) {
    if (synchronized) let_others_wait(comm);
    return call();
  }
  const std::uint64_t begin = state->begin_call();
  // Read while MPI works, as in `send`.
  CommunicatorUse *use = known_use(*state, comm);
  state->publish_collective(invoked, use == nullptr ? 0 : use->communicator->number);
  const std::uint64_t skew = synchronized ? wait_for_others(comm) : 0;
  const int result = call();
  const std::uint64_t end = ticks();
  if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
  state->node->skew_ticks += skew;
  const std::uint64_t duration = end - begin;
  std::uint64_t bytes = 0;
  if (__builtin_expect(use == nullptr, 0)) use = communicator_use(*state, comm);
  if (use != nullptr) {
    bytes = rule(Collective{*state, *use->communicator, comm});
    use->calls++;
    use->bytes += bytes;
    count_collective(*state, invoked, *use->communicator, bytes, duration, value_of(comm));
    then(*state, *use->communicator, bytes);
  }
  count_call(*state, invoked, bytes, duration);
  if (is_traced(*state)) trace_collective(*state, invoked, {begin, end}, use, bytes, request);
  state->node->coll_ticks += duration;
  if (waits) state->node->wait_ticks += duration;
  note_time(*state, end);
  return result;
}

template <class Rule, class Call>
int collective(const Invocation &invoked, MPI_Comm comm, Rule &&rule, Call &&call) {
  return collective_call(invoked, comm, rule, nullptr, call,
                         [](ThreadState &, const Communicator &, std::uint64_t) {});
}

template <class Rule, class Call>
int post_collective(const Invocation &invoked, MPI_Comm comm, Rule &&rule, MPI_Request *request,
                    Call &&call) {
  return collective_call(invoked, comm, rule, request, call,
                         [&](ThreadState &state, const Communicator &communicator, std::uint64_t bytes) {
                           put_request(state, *request,
                                       {.kind = Pending::collective,
                                        .flags = Request::flags_of(invoked.memory),
                                        .function = invoked,
                                        .communicator = communicator.number,
                                        .bytes = bytes});
                         });
}

// Stores the state of a persistent collective, which is freed with its request.
[[gnu::noinline]] inline void put_collective(ThreadState &state, MPI_Request request,
                                             const Invocation &invoked, std::uint32_t communicator,
                                             std::uint64_t bytes, std::vector<Flow> &&flows) {
  put_request(state, request,
              {.kind = Pending::collective,
               .flags = static_cast<std::uint8_t>(Request::persistent | Request::idle |
                                                  Request::flags_of(invoked.memory)),
               .function = invoked,
               .partner = invoked.partner,
               .communicator = communicator,
               .bytes = bytes,
               .flows = flows.empty() ? nullptr : new std::vector<Flow>(std::move(flows))});
}

// Counted at each MPI_Start.
template <class Rule, class Call>
int init_collective(const Invocation &invoked, MPI_Comm comm, Rule &&rule, MPI_Request *request,
                    Call &&call) {
  const Passing passing{invoked};
  const int result = call();
  if (result != MPI_SUCCESS || !passing) return result;
  if (const CommunicatorUse *use = communicator_use(*passing, comm)) {
    std::vector<Flow> flows;
    const std::uint64_t bytes = rule(Collective{*passing, *use->communicator, comm, &flows});
    put_collective(*passing, *request, invoked, use->communicator->number, bytes, std::move(flows));
  }
  passing.count_success(invoked, Category::collective);
  return result;
}

} // namespace haloscope::watch
