// The queues, the hand-over and the mask between threads, as many operations as the argument says.
// Exits with 1 and a line if anything was lost, torn or out of order.
#include "control_queue.hpp"
#include "handover.hpp"
#include "helper_mask.hpp"
#include "task_queue.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace {

using namespace haloscope::stencil;

std::atomic<bool> failed{false};

void expect(bool holds, const char *what) {
  if (!holds && !failed.exchange(true)) std::printf("stress: %s\n", what);
}

// Whoever waits gives way now and then: there may be fewer cores than threads.
void idle(unsigned &spins) {
  if (++spins % 64 == 0) std::this_thread::yield();
}

void control_queue(std::uint64_t operations) {
  struct Message {
    std::uint64_t number, check[6];
  };
  auto queue = std::make_unique<ControlQueue<Message, 64>>();
  std::jthread producer{[&] {
    unsigned spins = 0;
    for (std::uint64_t i = 0; i < operations && !failed; i++) {
      Message message{i, {}};
      for (auto &word : message.check) word = ~i;
      while (!queue->push(message) && !failed) idle(spins);
    }
  }};
  Message message{};
  unsigned spins = 0;
  for (std::uint64_t i = 0; i < operations && !failed; i++) {
    while (!queue->pop(message) && !failed) idle(spins);
    bool whole = message.number == i;
    for (const auto word : message.check) whole &= word == ~i;
    expect(whole, "control queue: a message is torn or out of order");
  }
}

void task_queue(std::uint64_t operations) {
  using Queue = TaskQueue<4, 64>;
  auto queue = std::make_unique<Queue>();
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> missed{0}, seen{0};
  const auto consume = [&] {
    Queue::Cursor cursor;
    Queue::Task task{};
    unsigned spins = 0;
    for (;;) {
      const bool last = over; // before looking: nothing comes after it
      const std::uint64_t expected = cursor.next;
      const auto found = queue->pop(cursor, task);
      if (found == Queue::Found::task) {
        expect(task == Queue::Task{expected, ~expected, expected * 3, expected ^ 7},
               "task queue: a task is torn, or another one");
        seen++;
      } else if (found == Queue::Found::nothing) {
        if (last || failed) break;
        idle(spins);
      }
    }
    expect(cursor.next == operations, "task queue: a consumer has not come to the end");
    missed += cursor.missed;
  };
  {
    std::jthread first{consume}, second{consume};
    unsigned spins = 0;
    for (std::uint64_t i = 0; i < operations && !failed; i++) {
      queue->push({i, ~i, i * 3, i ^ 7});
      if (i % 8 == 0) idle(spins);
    }
    over = true;
  }
  expect(seen + missed == 2 * operations, "task queue: tasks seen and missed do not add up");
  std::printf("task queue: %llu seen, %llu overwritten\n", static_cast<unsigned long long>(seen.load()),
              static_cast<unsigned long long>(missed.load()));
}

void handover(std::uint64_t operations) {
  constexpr std::size_t words = 32;
  struct Edge {
    Handover<> flags;
    std::uint64_t buffers[copies][words];
  };
  auto edge = std::make_unique<Edge>();
  std::jthread owner{[&] {
    unsigned spins = 0;
    for (std::uint64_t i = 1; i <= operations && !failed; i++) {
      while (!edge->flags.may_write(i) && !failed) idle(spins);
      for (auto &word : edge->buffers[i % copies]) word = i;
      edge->flags.publish(i);
    }
  }};
  unsigned spins = 0;
  for (std::uint64_t i = 1; i <= operations && !failed; i++) {
    while (!edge->flags.may_read(i) && !failed) idle(spins);
    const auto &buffer = edge->buffers[i % copies];
    expect(std::accumulate(buffer, buffer + words, std::uint64_t{0}) == words * i,
           "hand-over: a buffer has another exchange's data");
    edge->flags.release(i);
  }
}

// Each round: every helper does its part, and says so; who waits sees all parts.
void helper_mask(std::uint64_t rounds) {
  constexpr std::size_t helpers = 2, first = 70; // in the second word
  auto finished = std::make_unique<HelperMask<>>();
  std::atomic<std::uint64_t> round{0};
  std::uint64_t parts[helpers]{};
  std::vector<std::jthread> threads;
  threads.reserve(helpers);
  for (std::size_t helper = 0; helper < helpers; helper++)
    threads.emplace_back([&, helper] {
      unsigned spins = 0;
      for (std::uint64_t i = 1; i <= rounds && !failed; i++) {
        while (round.load(std::memory_order_acquire) < i && !failed) idle(spins);
        parts[helper] = i;
        finished->set(first + helper);
      }
    });
  unsigned spins = 0;
  for (std::uint64_t i = 1; i <= rounds && !failed; i++) {
    round.store(i, std::memory_order_release);
    while (finished->count() < helpers && !failed) idle(spins);
    for (std::size_t helper = 0; helper < helpers; helper++) {
      expect(parts[helper] == i, "helper mask: a finished part is not there");
      finished->clear(first + helper);
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  const std::uint64_t operations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  control_queue(operations);
  task_queue(operations);
  handover(operations);
  helper_mask(operations / 16);
  return failed ? 1 : 0;
}
