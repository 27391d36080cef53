// Calls that are counted and timed by name, in the time of their category.
#pragma once

#include "watch/counting/noting.hpp"
#include "watch/counting/state.hpp"

namespace haloscope::watch {

enum class Category : std::uint8_t { other, p2p, p2p_wait, collective, one_sided, io };

inline void add_time(Node &node, Category category, std::uint64_t duration) noexcept {
  switch (category) {
  case Category::p2p:
    node.p2p_ticks += duration;
    break;
  case Category::p2p_wait:
    node.p2p_ticks += duration;
    node.wait_ticks += duration;
    break;
  case Category::collective:
    node.coll_ticks += duration;
    break;
  case Category::one_sided:
    node.rma_ticks += duration;
    break;
  case Category::io:
    node.io_ticks += duration;
    break;
  case Category::other:
    node.other_ticks += duration;
    break;
  }
}

// A call of one of the many functions that are hardly called: what all of them need is there once.
class Passing {
public:
  [[gnu::noinline]] explicit Passing(const Invocation &invoked) noexcept
      : state_(invoked), begin_(state_ ? state_->begin_call() : 0) {}
  explicit operator bool() const noexcept { return static_cast<bool>(state_); }
  ThreadState &operator*() const noexcept { return *state_; }
  ThreadState *operator->() const noexcept { return &*state_; }
  [[gnu::noinline]] void count_success(const Invocation &invoked, Category category,
                                       std::uint64_t bytes = 0) const noexcept {
    const std::uint64_t end = ticks();
    count_call(*state_, invoked, bytes, end - begin_);
    add_time(*state_->node, category, end - begin_);
    note_call(*state_, invoked, begin_, end, bytes);
    note_time(*state_, end);
  }

private:
  Entry state_;
  std::uint64_t begin_;
};

} // namespace haloscope::watch
