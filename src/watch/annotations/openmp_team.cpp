#include "watch/annotations/openmp_team.hpp"

namespace haloscope::watch {

namespace {

constexpr unsigned pool_size = 256;
constinit std::array<Team, pool_size> team_pool;
// Where this thread found one: usually the same is free again.
constinit __thread unsigned recent_team __attribute__((tls_model("initial-exec"))) = 0;

} // namespace

Team *Team::take() noexcept {
  for (unsigned i = 0; i < pool_size; i++) {
    const unsigned place = (recent_team + i) % pool_size;
    Team &team = team_pool[place];
    if (team.is_taken_.load(std::memory_order_relaxed) ||
        team.is_taken_.exchange(true, std::memory_order_acquire))
      continue;
    recent_team = place;
    return &team;
  }
  return nullptr;
}

void Team::set_threads(std::uint64_t threads) noexcept {
  threads_ = threads;
  // The thread that begins a nested region is one of the region around it.
  const std::uint64_t more = outermost_ == this ? threads : threads - std::min<std::uint64_t>(threads, 1);
  widen(outermost_->most_, outermost_->active_.fetch_add(more, std::memory_order_relaxed) + more);
}

void Team::arrive(unsigned index, const Arrival &arrival) noexcept {
  Lane &to = lane(index);
  add(to.threads, 1);
  add(to.computing, arrival.computing);
  add(to.busy, arrival.busy());
  add(to.calling, arrival.calling);
  add(to.waiting, arrival.waited - (arrival.now - begin_));
  widen(to.busiest, arrival.busy());
}

void Team::add_late_work(unsigned index, std::uint64_t duration, std::uint64_t computing,
                         std::uint64_t calling, std::uint64_t busy) noexcept {
  Lane &to = lane(index);
  add(to.computing, computing);
  add(to.busy, duration);
  add(to.calling, calling);
  add(to.waiting, 0 - duration);
  widen(to.busiest, busy);
}

TeamSums Team::end(std::uint64_t now) noexcept {
  TeamSums sums;
  std::uint64_t busy = 0, busiest = 0;
  for (Lane &from : lanes_) {
    sums.threads += take_out(from.threads);
    sums.computing += take_out(from.computing);
    sums.calling += take_out(from.calling);
    sums.waiting += take_out(from.waiting);
    busy += take_out(from.busy);
    busiest = std::max(busiest, take_out(from.busiest));
  }
  const std::uint64_t time = now - begin_;
  sums.waiting += sums.threads * time;
  sums.imbalance = sums.threads * busiest - busy + take_out(nested_imbalance_);
  sums.regions += take_out(nested_regions_);
  sums.available = sums.threads * time + take_out(nested_available_);
  if (around_ == nullptr) {
    active_.store(0, std::memory_order_relaxed);
    return sums;
  }
  outermost_->active_.fetch_sub(threads_ - std::min<std::uint64_t>(threads_, 1), std::memory_order_relaxed);
  Lane &to = around_->lane(place_in_around_);
  add(to.computing, sums.computing);
  add(to.calling, sums.calling);
  add(to.waiting, sums.waiting);
  add(around_->nested_regions_, sums.regions);
  // The thread that began this region is available in the region around it.
  add(around_->nested_available_, sums.available - std::min(sums.available, time));
  add(around_->nested_imbalance_, sums.imbalance);
  return sums;
}

} // namespace haloscope::watch
