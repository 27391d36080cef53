#include "hide/shm/waiting.hpp"

#include "hide/shm/receiving.hpp"

#include <sched.h>
#include <utility>

namespace haloscope::shm {

namespace {
std::size_t next_asked = 0;
constinit thread_local bool is_away = false;
} // namespace

void nudge() {
  int there = 0;
  real.Iprobe(MPI_ANY_SOURCE, 0, shm.node->comm(), &there, MPI_STATUS_IGNORE);
}

// One receive per turn is enough: MPI progresses everything when it is asked for one.
bool progress() {
  if (pending_count > 0 && poll_receive(*pending[next_asked++ % pending_count])) return true;
  return help();
}

void progress_receives() {
  for (std::size_t i = pending.size(); i-- > 0;)
    if (i < pending.size()) poll_receive(*pending[i]); // it may leave, and the last one takes its place
}

void Waiting::operator()() {
  constexpr unsigned soon = 16, often = 8;
  rounds_++;
  {
    const Lock lock;
    if (progress()) return;
    if (rounds_ % often == 0) nudge();
  }
  if (rounds_ == soon && shm.node->ranks() > 2) {
    shm.node->channels().free().set(shm.node->me());
    free_ = true;
  }
  if (shm.node->crowded())
    sched_yield();
  else
    pause();
}

Waiting::~Waiting() {
  if (free_) shm.node->channels().free().clear(shm.node->me());
}

Away::Away() {
  const Lock lock;
  progress_receives();
  shm.node->desk().away.fetch_add(1, std::memory_order_relaxed);
  is_away = true;
}

Away::~Away() {
  is_away = false;
  shm.node->desk().away.fetch_sub(1, std::memory_order_relaxed);
}

void ShmLibrary::leave() const noexcept {
  if (node == nullptr) return;
  if (std::exchange(is_away, false)) node->desk().away.fetch_sub(1, std::memory_order_relaxed);
  node->channels().free().clear(node->me());
}

} // namespace haloscope::shm
