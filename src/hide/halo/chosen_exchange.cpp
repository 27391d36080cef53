#include "hide/halo/chosen_exchange.hpp"

#include <sched.h>

#include <cstring>

namespace haloscope::halo {

namespace {

constexpr unsigned patience = 1024, little_patience = 32; // looks between two turns for others

std::size_t room(const std::vector<Edge> &edges) {
  std::size_t bytes = 0;
  for (const Edge &edge : edges) bytes += (edge.bytes + line - 1) / line * line;
  return bytes;
}

std::vector<Message> place(const std::vector<Edge> &edges, std::byte *&space) {
  std::vector<Message> messages;
  for (const Edge &edge : edges) {
    messages.push_back({edge, space});
    space += (edge.bytes + line - 1) / line * line;
  }
  return messages;
}

} // namespace

std::string name(const Choice &choice, bool outside) {
  if (choice.within == Within::messages) return name(choice.way);
  const std::string within = choice.within == Within::window ? "window" : "in place";
  return outside ? within + " and " + name(choice.way) : within;
}

std::size_t Exchange::needed(const Choice &choice, const Plan &plan) {
  const bool messages = choice.within == Within::messages;
  const Edges &carried = messages ? plan.all : plan.outside;
  const std::size_t copied = choice.within == Within::window ? room(plan.inside.receives) : 0;
  return room(carried.sends) + room(carried.receives) + copied;
}

Exchange::Exchange(const Choice &choice, Plan &plan, std::byte *space)
    : plan_(&plan), within_(choice.within), sends_(static_cast<std::size_t>(plan.all.send_count)),
      receives_(static_cast<std::size_t>(plan.all.receive_count)) {
  const Edges &carried = within_ == Within::messages ? plan.all : plan.outside;
  const std::vector<Message> sends = place(carried.sends, space), receives = place(carried.receives, space);
  const auto own = [](std::vector<Place> &side, const std::vector<Message> &messages) {
    for (const Message &m : messages) side[static_cast<std::size_t>(m.edge.neighbour)].own = m.data;
  };
  const auto common = [](std::vector<Place> &side, const std::vector<Edge> &edges) {
    for (std::size_t i = 0; i < edges.size(); i++)
      side[static_cast<std::size_t>(edges[i].neighbour)] = {nullptr, i, true};
  };
  own(sends_, sends);
  own(receives_, receives);
  if (within_ != Within::messages) common(sends_, plan.inside.sends);
  if (within_ == Within::in_place) common(receives_, plan.inside.receives);
  if (within_ == Within::window) {
    const std::vector<Message> copies_here = place(plan.inside.receives, space);
    own(receives_, copies_here);
    for (const Message &m : copies_here) copied_.push_back(m.data);
  }
  carrier_ = Carrier::make(choice.way, plan.comm.get(), sends, receives);
}

// MPI is called now and then, as a neighbour may wait for a message that this rank's MPI has not sent yet.
template <class Predicate> void Exchange::wait(Predicate there) {
  const unsigned looks = plan_->node.crowded ? little_patience : patience;
  for (unsigned i = 1; !there(); i++) {
    pause();
    if (i % looks != 0) continue;
    int found = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, plan_->comm.get(), &found, MPI_STATUS_IGNORE));
    sched_yield();
  }
}

std::byte *Exchange::send_buffer(int neighbour) {
  const Place &place = sends_[static_cast<std::size_t>(neighbour)];
  if (!place.shared) return place.own;
  const Shared &shared = *plan_->shared;
  wait([&] { return shared.may_write(place.edge); });
  return shared.next(shared.sends()[place.edge]);
}

const std::byte *Exchange::receive_buffer(int neighbour) const noexcept {
  const Place &place = receives_[static_cast<std::size_t>(neighbour)];
  if (!place.shared) return place.own;
  return plan_->shared->last(plan_->shared->receives()[place.edge]);
}

void Exchange::start() {
  release();
  if (within_ != Within::messages && plan_->shared) {
    wait([&] { return plan_->shared->may_start(); });
    plan_->shared->start();
    arrived_ = 0;
    held_ = true;
  }
  carrier_->start();
  carried_ = false;
}

bool Exchange::test() {
  if (!carried_) carried_ = carrier_->test();
  if (held_) {
    arrived_ = plan_->shared->arrived(arrived_);
    if (arrived_ < plan_->shared->receives().size()) return false;
  }
  if (carried_) copy();
  return carried_;
}

void Exchange::finish() {
  if (held_) {
    wait([&] {
      arrived_ = plan_->shared->arrived(arrived_);
      return arrived_ == plan_->shared->receives().size();
    });
    copy();
  }
  if (!carried_) carrier_->finish();
  carried_ = true;
}

// Data from a window is copied and released at once.
void Exchange::copy() {
  if (within_ != Within::window || !held_) return;
  const Shared &shared = *plan_->shared;
  for (std::size_t i = 0; i < copied_.size(); i++)
    std::memcpy(copied_[i], shared.last(shared.receives()[i]), shared.receives()[i].bytes);
  release();
}

void Exchange::release() noexcept {
  if (held_) plan_->shared->release();
  held_ = false;
}

} // namespace haloscope::halo
