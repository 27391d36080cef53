// What is known of requests, and posts: non-blocking sends and receives.
#pragma once

#include "watch/counting/noting.hpp"
#include "watch/counting/state.hpp"

namespace haloscope::watch {

// Nothing is known of the handles without an object of their own.
inline bool has_slot(MPI_Request handle) noexcept {
  return handle != MPI_REQUEST_NULL && !is_finished(handle);
}
[[gnu::always_inline]] inline Request *request_slot(ThreadState &state, MPI_Request handle) noexcept {
  return has_slot(handle) ? pending_requests.slot(value_of(handle), state.recent_requests) : nullptr;
}
inline Request *request_slot(MPI_Request handle) noexcept {
  return has_slot(handle) ? pending_requests.slot(value_of(handle)) : nullptr;
}
inline void put_request(ThreadState &state, MPI_Request handle, const Request &request) noexcept {
  if (Request *slot = request_slot(state, handle)) *slot = request;
}
// Of a post that is remembered, whose tag may be another one.
inline void put_request(ThreadState &state, MPI_Request handle, const Request &request,
                        std::int32_t tag) noexcept {
  Request *slot = request_slot(state, handle);
  if (slot == nullptr) return;
  *slot = request;
  slot->tag = tag;
}
inline void clear_request(ThreadState &state, MPI_Request handle) noexcept {
  if (Request *slot = request_slot(state, handle)) slot->kind = Pending::none;
}
inline void clear_request(MPI_Request handle) noexcept {
  if (Request *slot = request_slot(handle)) slot->kind = Pending::none;
}

// Of the thread; nullptr for a communicator that there is no memory for.
[[gnu::always_inline]] inline CommunicatorUse *communicator_use(ThreadState &state, MPI_Comm comm) noexcept {
  const std::uintptr_t value = value_of(comm);
  const CachedUse &cached = state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached];
  if (__builtin_expect(cached.handle == comm && cached.use != nullptr, 1)) return cached.use;
  return look_up_communicator(state, comm);
}

// The same before the call, whose arguments MPI has not judged yet: nullptr unless the handle is known.
[[gnu::always_inline]] inline CommunicatorUse *known_use(ThreadState &state, MPI_Comm comm) noexcept {
  const std::uintptr_t value = value_of(comm);
  const CachedUse &cached = state.communicator_uses[(value ^ value >> 8U) % ThreadState::cached];
  if (__builtin_expect(cached.handle == comm && cached.use != nullptr, 1)) return cached.use;
  return is_known_communicator(comm) ? look_up_communicator(state, comm) : nullptr;
}

// The same for a message; nullptr too where there is none.
inline CommunicatorUse *message_use(ThreadState &state, MPI_Comm comm, int rank) noexcept {
  return rank == MPI_PROC_NULL ? nullptr : communicator_use(state, comm);
}

// A message whose like was not there before: the communicator's number costs a look.
[[gnu::noinline]] inline std::uint32_t known_number(ThreadState &state, MPI_Comm comm) noexcept {
  const CommunicatorUse *use = known_use(state, comm);
  return use == nullptr ? 0 : use->communicator->number;
}

// Returns whether it counted: MPI_PROC_NULL (negative in every MPI) and empty statuses do not.
[[gnu::always_inline]] inline bool received(ThreadState &state, const Communicator &communicator,
                                            const MPI_Status &status, std::uint64_t bytes,
                                            std::uint64_t duration, Message message = arrived) noexcept {
  if (__builtin_expect(status.MPI_SOURCE < 0, 0)) return false;
  count_receive(state, communicator, status.MPI_SOURCE, bytes, duration, message);
  return true;
}

inline MPI_Status *usable(MPI_Status *status, MPI_Status &own) noexcept {
  return status == MPI_STATUS_IGNORE ? &own : status;
}

inline void add_waiting(const Recorder &state, std::uint64_t duration) noexcept {
  state.node->p2p_ticks += duration;
  state.node->wait_ticks += duration;
}

// When a call that was stamped began and ended.
struct Stamps {
  std::uint64_t begin = 0, end = 0;
};

// A non-blocking post: stamped if large or sampled. `then` counts it, given its bytes, the ticks it
// stands for, and its stamps.
template <class Count, class Call, class Then>
int post(const Invocation &invoked, Count count, MPI_Datatype datatype, Call &&call, Then &&then) {
  const Entry entry{invoked};
  if (!entry) return call();
  ThreadState &state = *entry;
  // Only what is known without asking MPI: the arguments may be wrong, and are MPI's to judge.
  std::uint64_t bytes = known_payload(state, count, datatype);
  const unsigned weight = bytes >= state.stamped_size ? 1 : state.stamp_weight();
  const std::uint64_t begin = weight == 0 ? 0 : state.begin_call();
  const int result = call();
  const std::uint64_t end = weight == 0 ? 0 : ticks();
  const std::uint64_t duration = end - begin;
  if (result != MPI_SUCCESS) return result;
  if (bytes == unknown_bytes) bytes = payload(state, count, datatype);
  then(state, bytes, duration * weight, Stamps{begin, end});
  if (weight != 0) {
    add_call_time(state, invoked, duration, weight);
    state.node->p2p_ticks += duration * weight;
  }
  return result;
}
// Whether several finished sends may have one handle.
#if defined(HALOSCOPE_ABI_OPENMPI)
inline constexpr bool shares_handles = false; // but for one, which has no slot
#else
inline constexpr bool shares_handles = true;
#endif

[[gnu::always_inline]] inline void keep_send(ThreadState &state, MPI_Request handle, const Request &request,
                                             std::int32_t tag) noexcept {
  Request *slot = request_slot(state, handle);
  if (slot == nullptr) return;
  const bool shared = shares_handles && slot->kind == Pending::send && !slot->has(Request::persistent);
  *slot = request;
  slot->tag = tag;
  if (shares_handles && shared && !request.has(Request::persistent)) slot->flags |= Request::shared;
}

inline void keep_receive(ThreadState &state, const Invocation &invoked, const CommunicatorUse *use,
                         int source, std::uint64_t room, MPI_Request handle, std::uint8_t flags) noexcept {
  const Memory memory = (flags & Request::exchanging) != 0 ? invoked.into : invoked.memory;
  if (use == nullptr)
    clear_request(state, handle);
  else
    put_request(state, handle,
                {.kind = Pending::receive,
                 .flags = static_cast<std::uint8_t>(flags | Request::flags_of(memory)),
                 .function = invoked,
                 .partner = source,
                 .communicator = use->communicator->number,
                 .tag = invoked.tag,
                 .bytes = room});
}

// A post in the trace, after its request is known.
template <bool is_send>
[[gnu::noinline]] void trace_post(ThreadState &state, Function function, Stamps stamps, MPI_Request handle,
                                  const Request &request, std::int32_t tag) noexcept {
  const std::uint64_t number = begin_request(state, handle, is_send);
  const trace::Action begun = is_send ? trace::Action::begun_send : trace::Action::posted;
  const trace::Action over = is_send ? trace::Action::sent : trace::Action::none;
  trace_call(state, {.function = function,
                     .begin = stamps.begin,
                     .end = stamps.end,
                     .bytes = is_send ? std::uint64_t{request.bytes} : 0,
                     .action = number != 0 ? begun : over,
                     .communicator = request.communicator,
                     .partner = request.partner,
                     .tag = tag,
                     .size = request.bytes});
}

// What of a post's arguments is compared as its count: in other memory it is another one.
template <class Count>
[[gnu::always_inline]] inline std::uint64_t count_of_post(Count count, Memory memory) noexcept {
  return static_cast<std::uint64_t>(count) | number_of(memory) << 60U;
}

// Where the thread remembers posts with such arguments.
[[gnu::always_inline]] inline Post &place_of_post(ThreadState &state, Function function, int rank,
                                                  std::uint64_t count) noexcept {
  const std::uint64_t mixed = static_cast<std::uint32_t>(rank) + static_cast<std::uint64_t>(function) * 17U +
                              count * 5U + (value_of(state.node) >> 6U);
  return state.posts[static_cast<std::uint8_t>(mixed)];
}

[[gnu::always_inline]] inline bool is_repeated(const Recorder &state, const Post &post, Function function,
                                               MPI_Comm comm, MPI_Datatype datatype, std::uint64_t count,
                                               int rank) noexcept {
  return post.communicator == value_of(comm) && post.datatype == value_of(datatype) && post.count == count &&
         post.node == state.node && post.request.partner == rank && post.request.function == function;
}

// Whether a record that was known is still one of this region's, and of `rank`.
[[gnu::always_inline]] inline bool is_current(const MessageRecord *record, const Node &node, int rank,
                                              std::uint64_t bytes, std::uint64_t message,
                                              Memory memory = Memory::host) noexcept {
  return record != nullptr &&
         static_cast<std::uint32_t>(record->key.channel) == static_cast<std::uint32_t>(rank) &&
         record->key.what == what_of(bytes, memory, message) && record->partner->node == &node;
}

// A post whose like was there before: nothing but the arguments is looked at. The wrappers of MPI_Isend,
// MPI_Irecv and their like try this first; what it is not for leaves no trace. With `stamped` false it is
// for posts that are not to be stamped, so that the commonest call of all has little to save and restore.
template <bool stamped> class RepeatedPost {
public:
  template <class Count>
  [[gnu::always_inline]] RepeatedPost(const Invocation &invoked, Count count, MPI_Datatype datatype, int rank,
                                      MPI_Comm comm) noexcept
      : state_(this_thread()) {
    if (__builtin_expect(state_ == nullptr, 0)) return;
    if (!stamped && __builtin_expect(state_->sites != nullptr, 0)) return; // no room here to find them
    const std::uint64_t wide = count_of_post(count, invoked.memory);
    const Post &post = place_of_post(*state_, invoked, rank, wide);
    if (!is_repeated(*state_, post, invoked, comm, datatype, wide, rank) || state_->doing.call != 0 ||
        state_->handle_epoch != global().handle_epoch.load(std::memory_order_relaxed))
      return;
    const bool large = post.request.bytes >= state_->stamped_size;
    if constexpr (stamped)
      weight_ = large ? 1 : state_->stamp_weight();
    else if (large || !state_->goes_unstamped())
      return;
    post_ = &post;
    if constexpr (stamped)
      enter_call(*state_, invoked);
    else
      enter_call(*state_, invoked.function);
    state_->memory = invoked.memory;
  }
  ~RepeatedPost() {
    if (post_ != nullptr) leave_call(*state_);
  }
  RepeatedPost(const RepeatedPost &) = delete;
  RepeatedPost &operator=(const RepeatedPost &) = delete;

  explicit operator bool() const noexcept { return post_ != nullptr; }

  template <class Call>
  [[gnu::always_inline]] int send(const Invocation &invoked, const MPI_Request *request, Call &&call) const {
    return make(invoked, call, [&](std::uint64_t duration, Stamps stamps) __attribute__((always_inline)) {
      count_sent(*post_->node, *post_->request.record, post_->request.bytes, duration);
      keep_send(*state_, *request, post_->request, invoked.tag);
      if constexpr (stamped) {
        count_at_site(*state_, post_->request.bytes);
        if (is_traced(*state_))
          trace_post<true>(*state_, invoked, stamps, *request, post_->request, invoked.tag);
      }
    });
  }
  template <class Call>
  [[gnu::always_inline]] int receive(const Invocation &invoked, const MPI_Request *request,
                                     Call &&call) const {
    return make(invoked, call, [&](std::uint64_t /*duration*/, Stamps stamps) __attribute__((always_inline)) {
      count_in_region(*state_, invoked, 0);
      put_request(*state_, *request, post_->request, invoked.tag);
      if constexpr (stamped) {
        count_at_site(*state_, 0);
        if (is_traced(*state_))
          trace_post<false>(*state_, invoked, stamps, *request, post_->request, invoked.tag);
      }
    });
  }

private:
  template <class Call, class Count>
  [[gnu::always_inline]] int make(const Invocation &invoked, Call &&call, Count &&count) const {
    const bool stamp = stamped && weight_ != 0;
    const std::uint64_t begin = stamp ? state_->begin_call() : 0;
    const int result = call();
    const std::uint64_t end = stamp ? ticks() : 0;
    const std::uint64_t duration = end - begin;
    if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
    count(duration * weight_, Stamps{begin, end});
    if (stamp) {
      add_call_time(*state_, invoked, duration, weight_);
      state_->node->p2p_ticks += duration * weight_;
    }
    return result;
  }

  ThreadState *state_;
  const Post *post_ = nullptr;
  unsigned weight_ = 0;
};

// After a post whose like was not there before: `place` remembers it.
template <bool is_send>
[[gnu::noinline]] void count_new_post(ThreadState &state, Post &place, Post post, MPI_Comm comm,
                                      MPI_Request handle, std::uint64_t duration, Stamps stamps) noexcept {
  Request &request = post.request;
  const CommunicatorUse *use = message_use(state, comm, request.partner);
  if (use == nullptr) {
    count_call(state, request.function, 0);
    note_call(state, request.function, stamps.begin, stamps.end);
    clear_request(state, handle);
    return;
  }
  request.kind = is_send ? Pending::send : Pending::receive;
  request.communicator = use->communicator->number;
  request.post = static_cast<std::uint8_t>(&place - state.posts.data());
  if constexpr (is_send) {
    request.record = count_send(state, message_of(request.function), *use->communicator, request.partner,
                                request.bytes, duration);
    count_at_site(state, request.bytes);
    if (request.record != nullptr && request.post != 0) place = post;
    keep_send(state, handle, request, request.tag);
  } else {
    if (request.post != 0) place = post;
    count_call(state, request.function, 0);
    put_request(state, handle, request);
  }
  if (is_traced(state)) trace_post<is_send>(state, request.function, stamps, handle, request, request.tag);
}

// Any other post.
template <bool is_send, class Count, class Call>
int post_message(const Invocation &invoked, Count given, MPI_Datatype datatype, int rank, MPI_Comm comm,
                 const MPI_Request *request, Call &&call) {
  return post(invoked, given, datatype, call,
              [&](ThreadState &state, std::uint64_t bytes, std::uint64_t duration, Stamps stamps) {
                const std::uint64_t count = count_of_post(given, invoked.memory);
                count_new_post<is_send>(state, place_of_post(state, invoked, rank, count),
                                        {value_of(comm),
                                         value_of(datatype),
                                         count,
                                         state.node,
                                         {.flags = Request::flags_of(invoked.memory),
                                          .function = invoked,
                                          .partner = rank,
                                          .tag = invoked.tag,
                                          .bytes = bytes}},
                                        comm, *request, duration, stamps);
              });
}

template <class Count, class Call>
int post_send(const Invocation &invoked, Count count, MPI_Datatype datatype, int dest, MPI_Comm comm,
              MPI_Request *request, Call &&call) {
  return post_message<true>(invoked, count, datatype, dest, comm, request, call);
}

template <class Count, class Call>
int post_receive(const Invocation &invoked, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                 MPI_Request *request, Call &&call) {
  return post_message<false>(invoked, count, datatype, source, comm, request, call);
}

} // namespace haloscope::watch
