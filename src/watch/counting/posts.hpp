// Posts: non-blocking sends and receives.
#pragma once

#include "watch/counting/request_slots.hpp"

namespace haloscope::watch {

// When a call that was stamped began and ended.
struct Stamps {
  std::uint64_t begin = 0, end = 0;
};

// The ticks of a stamped post, and those of the posts before it that it represents as a sample.
struct PostTime {
  std::uint64_t own = 0, others = 0;
  [[nodiscard]] std::uint64_t all() const noexcept { return own + others; }
};
[[gnu::always_inline]] inline PostTime time_of_post(Recorder &state, Stamps stamps,
                                                    unsigned weight) noexcept {
  const std::uint64_t own = stamps.end - stamps.begin;
  return {own, weight > 1 ? state.usual_post.of_others(own, weight - 1) : 0};
}
[[gnu::always_inline]] inline void add_post_time(Recorder &state, Function function, PostTime time,
                                                 Stamps stamps) noexcept {
  add_call_time(state, function, time.own);
  state.node->p2p_ticks += time.own;
  if (time.others != 0) add_estimate(state, function, Estimated::p2p, time.others);
  state.record->newest = stamps.end;
}

// A non-blocking post: stamped if large or sampled. `then` counts it. Its arguments are the bytes, the ticks
// of the post and of those that it represents, and the stamps.
template <class Count, class Call, class Then>
int post(const Invocation &invoked, Count count, MPI_Datatype datatype, Call &&call, Then &&then) {
  const Entry entry{invoked};
  if (!entry) return call();
  ThreadState &state = *entry;
  // MPI has not checked the arguments yet, so only known datatypes are used here.
  std::uint64_t bytes = known_payload(state, count, datatype);
  const unsigned weight = bytes >= state.stamped_size ? 1 : state.stamp_weight();
  Stamps stamps;
  if (weight != 0) stamps.begin = state.begin_call();
  const int result = call();
  if (weight != 0) stamps.end = ticks();
  if (result != MPI_SUCCESS) return result;
  if (bytes == unknown_bytes) bytes = payload(state, count, datatype);
  const PostTime time = time_of_post(state, stamps, weight);
  then(state, bytes, time.all(), stamps);
  if (weight != 0) add_post_time(state, invoked, time, stamps);
  return result;
}
// A post in the trace, after its request is known.
template <bool is_send>
[[gnu::noinline]] void trace_post(ThreadState &state, Function function, Stamps stamps, MPI_Request handle,
                                  const Request &request, std::int32_t tag) noexcept {
  const std::uint64_t number = begin_request(state, handle, is_send);
  const MessageAction begun = is_send ? MessageAction::begun_send : MessageAction::posted;
  const MessageAction over = is_send ? MessageAction::sent : MessageAction::none;
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

// The count by which posts are compared. It includes the kind of memory, because a buffer on a GPU makes it a
// different post.
template <class Count>
[[gnu::always_inline]] inline std::uint64_t count_of_post(Count count, Memory memory) noexcept {
  return static_cast<std::uint64_t>(count) | number_of(memory) << 60U;
}

// The entry for posts with these arguments.
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

// A post whose arguments are remembered from an earlier one: only the arguments are compared. The wrappers of
// MPI_Isend, MPI_Irecv and similar functions try this first. If the post is new, nothing is changed.
//
// With `stamped` false, it handles only posts without a stamp. So the most frequent call of all has few
// registers to save and restore.
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
      enter_call(*state_, invoked.function, invoked.caller);
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
    Stamps stamps;
    if (stamp) stamps.begin = state_->begin_call();
    const int result = call();
    if (stamp) stamps.end = ticks();
    if (__builtin_expect(result != MPI_SUCCESS, 0)) return result;
    const PostTime time = stamp ? time_of_post(*state_, stamps, weight_) : PostTime{};
    count(time.all(), stamps);
    if (stamp) add_post_time(*state_, invoked, time, stamps);
    return result;
  }

  ThreadState *state_;
  const Post *post_ = nullptr;
  unsigned weight_ = 0;
};

// After a post with new arguments: `place` remembers it.
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
