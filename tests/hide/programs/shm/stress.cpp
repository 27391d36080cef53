// The queues between threads, with the number of operations of the argument, and the hand-over and the mask
// with fewer.
// Exits with 1 and a line if anything was lost, torn or out of order.
#include "hide/halo/queues.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace {

using namespace haloscope::halo;

std::atomic<bool> failed{false};

void expect(bool holds, const char *what) {
  if (__builtin_expect(holds, true)) return;
  if (!failed.exchange(true)) std::printf("stress: %s\n", what);
}

// A waiting thread pauses, and yields after some spins, as there may be fewer cores than threads. A system
// call each time would be most of the work.
class Patience {
public:
  void wait() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++spins_ % 64 == 0) std::this_thread::yield();
  }

private:
  unsigned spins_ = 0;
};

template <std::size_t capacity> void control_queue(std::uint64_t operations) {
  struct Message {
    std::uint64_t number, check[6];
  };
  auto queue = std::make_unique<ControlQueue<Message, capacity>>();
  std::jthread producer{[&] {
    Patience patience;
    for (std::uint64_t i = 0; i < operations && !failed; i++) {
      Message message{i, {}};
      for (auto &word : message.check) word = ~i;
      while (!queue->push(message) && !failed) patience.wait();
    }
  }};
  Message message{};
  Patience patience;
  for (std::uint64_t i = 0; i < operations && !failed; i++) {
    while (!queue->pop(message) && !failed) patience.wait();
    bool whole = message.number == i;
    for (const auto word : message.check) whole &= word == ~i;
    expect(whole, "control queue: a message is torn or out of order");
  }
}

void task_queue(std::uint64_t operations) {
  using Queue = TaskQueue<4, 64>;
  auto queue = std::make_unique<Queue>();
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> all_missed{0}, all_seen{0};
  const auto consume = [&] {
    Queue::Cursor cursor;
    Queue::Task task{};
    std::uint64_t seen = 0;
    Patience patience;
    for (;;) {
      const bool last = over; // read before the queue: no task follows
      const std::uint64_t expected = cursor.next;
      const auto found = queue->pop(cursor, task);
      if (found == Queue::Found::task) {
        expect(task == Queue::Task{expected, ~expected, expected * 3, expected ^ 7},
               "task queue: a task is torn, or another one");
        seen++;
      } else if (found == Queue::Found::nothing) {
        if (last || failed) break;
        patience.wait();
      }
    }
    expect(cursor.next == operations, "task queue: a consumer has not come to the end");
    all_missed += cursor.missed;
    all_seen += seen;
  };
  {
    std::jthread first{consume}, second{consume};
    Patience patience;
    for (std::uint64_t i = 0; i < operations && !failed; i++) {
      queue->push({i, ~i, i * 3, i ^ 7});
      if (i % 8 == 0) patience.wait(); // at full speed, consumers would hardly see it
    }
    over = true;
  }
  expect(all_seen + all_missed == 2 * operations, "task queue: tasks seen and missed do not add up");
  std::printf("task queue: %llu seen, %llu overwritten\n", static_cast<unsigned long long>(all_seen.load()),
              static_cast<unsigned long long>(all_missed.load()));
}

void handover(std::uint64_t operations) {
  constexpr std::size_t words = 32;
  struct Edge {
    Handover<> flags;
    std::uint64_t buffers[copies][words];
  };
  auto edge = std::make_unique<Edge>();
  std::jthread owner{[&] {
    Patience patience;
    for (std::uint64_t i = 1; i <= operations && !failed; i++) {
      while (!edge->flags.may_write(i) && !failed) patience.wait();
      for (auto &word : edge->buffers[i % copies]) word = i;
      edge->flags.publish(i);
    }
  }};
  Patience patience;
  for (std::uint64_t i = 1; i <= operations && !failed; i++) {
    while (!edge->flags.may_read(i) && !failed) patience.wait();
    const auto &buffer = edge->buffers[i % copies];
    expect(std::accumulate(buffer, buffer + words, std::uint64_t{0}) == words * i,
           "hand-over: a buffer has another exchange's data");
    edge->flags.release(i);
  }
}

// In each round every helper does its part and marks it; the waiting thread sees all parts.
void helper_mask(std::uint64_t rounds) {
  constexpr std::size_t helpers = 2, first = 70; // in the second word
  auto finished = std::make_unique<HelperMask<>>();
  std::atomic<std::uint64_t> round{0};
  std::uint64_t parts[helpers]{};
  std::vector<std::jthread> threads;
  threads.reserve(helpers);
  for (std::size_t helper = 0; helper < helpers; helper++)
    threads.emplace_back([&, helper] {
      Patience patience;
      for (std::uint64_t i = 1; i <= rounds && !failed; i++) {
        while (round.load(std::memory_order_acquire) < i && !failed) patience.wait();
        parts[helper] = i;
        finished->set(first + helper);
      }
    });
  Patience patience;
  for (std::uint64_t i = 1; i <= rounds && !failed; i++) {
    round.store(i, std::memory_order_release);
    while (finished->count() < helpers && !failed) patience.wait();
    for (std::size_t helper = 0; helper < helpers; helper++) {
      expect(parts[helper] == i, "helper mask: a finished part is not there");
      finished->clear(first + helper);
    }
  }
}

// A batch after the other, until the operations or ten seconds are over: on a busy machine a thread may wait
// for its turn in each operation.
template <void (*stress)(std::uint64_t)> void in_batches(std::uint64_t operations) {
  constexpr std::uint64_t batch = 100;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  for (std::uint64_t done = 0; done < operations && std::chrono::steady_clock::now() < end; done += batch)
    stress(batch);
}

} // namespace

int main(int argc, char **argv) {
  const std::uint64_t operations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000000;
  control_queue<1024>(operations);
  control_queue<64>(operations / 16);
  task_queue(operations);
  // Every exchange waits for another thread, and one of the mask for three.
  in_batches<handover>(std::min<std::uint64_t>(operations, 1000000));
  in_batches<helper_mask>(std::min<std::uint64_t>(operations / 16, 100000));
  return failed ? 1 : 0;
}
