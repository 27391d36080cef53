// All interleavings of the queues and similar algorithms, on a weakly ordered machine. Each release and each
// acquire is also weakened alone, and each weakening must be detected. Prints a line per scenario.
#include "model.hpp"

#include "hide/halo/queues.hpp"

#include <cstdio>
#include <memory>

namespace model {

void Checker::turn() {
  const std::size_t thread = self_;
  swapcontext(&fibres_[thread], &scheduler_);
}

std::size_t Checker::choose(std::size_t ways) {
  if (ways == 1) return 0;
  if (depth_ == path_.size()) path_.push_back({0, ways});
  return path_[depth_++].taken;
}

std::memory_order Checker::order(std::memory_order asked, const std::source_location &where) {
  if (asked == std::memory_order_relaxed) return asked;
  const Place place{where.file_name(), where.line()};
  places_[place] = true;
  return weakened_ == place ? std::memory_order_relaxed : asked;
}

void Checker::enter(unsigned thread) {
  current_->bodies_[thread]();
  current_->done_[thread] = true;
  swapcontext(&current_->fibres_[thread], &current_->scheduler_);
}

void Checker::execute(const Scenario &scenario) {
  constexpr std::size_t stack = 64 << 10;
  depth_ = 0;
  clocks_ = {};
  self_ = 0;
  bodies_ = scenario();
  for (std::size_t i = 0; i < bodies_.size(); i++) {
    stacks_[i].resize(stack);
    done_[i] = false;
    getcontext(&fibres_[i]);
    fibres_[i].uc_stack.ss_sp = stacks_[i].data();
    fibres_[i].uc_stack.ss_size = stack;
    makecontext(&fibres_[i], reinterpret_cast<void (*)()>(&Checker::enter), 1, static_cast<unsigned>(i));
  }
  for (;;) {
    std::array<std::size_t, most_threads> ready{};
    std::size_t count = 0;
    for (std::size_t i = 0; i < bodies_.size(); i++)
      if (!done_[i]) ready[count++] = i;
    if (count == 0) break;
    self_ = ready[choose(count)];
    swapcontext(&scheduler_, &fibres_[self_]);
  }
}

std::string Checker::run(const Scenario &scenario) {
  current_ = this;
  path_.clear();
  do {
    execute(scenario);
    executions_++;
    while (!path_.empty() && path_.back().taken + 1 == path_.back().ways) path_.pop_back();
    if (!path_.empty()) path_.back().taken++;
  } while (!path_.empty() && failure_.empty());
  return failure_;
}

} // namespace model

namespace {

using namespace haloscope::halo;
using model::Body;
using model::Checker;
using model::Memory;

void expect(bool holds, const char *what) {
  if (!holds) Checker::now().fail(what);
}

std::vector<Body> control_queue() {
  auto queue = std::make_shared<ControlQueue<std::uint64_t, 2, Memory>>();
  return {[queue] {
            std::uint64_t value = 1;
            for (int attempt = 0; attempt < 4 && value <= 3; attempt++)
              if (queue->push(value)) value++;
          },
          [queue] {
            std::uint64_t expected = 1, value = 0;
            for (int attempt = 0; attempt < 4; attempt++)
              if (queue->pop(value)) expect(value == expected++, "a message is not the next one");
          }};
}

std::vector<Body> task_queue() {
  using Queue = TaskQueue<2, 2, Memory>;
  auto queue = std::make_shared<Queue>();
  const auto consumer = [queue] {
    Queue::Cursor cursor;
    Queue::Task task{};
    for (int attempt = 0; attempt < 3; attempt++) {
      const std::uint64_t before = cursor.next;
      const Queue::Found found = queue->pop(cursor, task);
      if (found == Queue::Found::task)
        expect(task == Queue::Task{before, ~before}, "a task is torn, or another one");
      else
        expect((found == Queue::Found::nothing) == (cursor.next == before), "a cursor moved wrongly");
    }
    expect(cursor.next <= 4, "a cursor is ahead of the producer");
  };
  return {[queue] {
            for (std::uint64_t i = 0; i < 4; i++) queue->push({i, ~i});
          },
          consumer};
}

std::vector<Body> handover() {
  struct Edge {
    Handover<Memory> flags;
    model::Plain<std::uint64_t> buffers[copies];
  };
  auto edge = std::make_shared<Edge>();
  return {[edge] {
            std::uint64_t exchange = 1;
            for (int attempt = 0; attempt < 4; attempt++) {
              if (!edge->flags.may_write(exchange)) continue;
              edge->buffers[exchange % copies] = exchange;
              edge->flags.publish(exchange++);
            }
          },
          [edge] {
            std::uint64_t exchange = 1;
            for (int attempt = 0; attempt < 4; attempt++) {
              if (!edge->flags.may_read(exchange)) continue;
              expect(edge->buffers[exchange % copies] == exchange, "a buffer has another exchange's data");
              edge->flags.release(exchange++);
            }
          }};
}

std::vector<Body> helper_mask() {
  struct Shared {
    HelperMask<Memory, 1> free, finished;
    model::Plain<int> parts[2];
  };
  auto shared = std::make_shared<Shared>();
  const auto helper = [shared](std::size_t rank) {
    shared->free.set(rank);
    shared->parts[rank] = 1;
    shared->free.clear(rank);
    shared->finished.set(rank);
  };
  return {[helper] { helper(0); }, [helper] { helper(1); },
          [shared] {
            if (shared->finished.count() == 2) {
              expect(shared->parts[0] + shared->parts[1] == 2, "a finished part is not there");
              expect(shared->free.count() == 0, "who has finished is still free");
            } else if (shared->finished.has(1)) {
              expect(shared->parts[1] == 1, "the finished part is not there");
            }
          }};
}

// True if the scenario holds, and needs each of its orders.
bool check(const char *name, const model::Scenario &scenario) {
  Checker whole;
  const std::string wrong = whole.run(scenario);
  std::size_t missed = 0;
  for (const auto &[place, _] : whole.places()) {
    Checker weak{place};
    if (weak.run(scenario).empty())
      std::printf("%s: not needed: %s:%u\n", name, place.first.c_str(), place.second);
    else
      missed++;
  }
  std::printf("%s: %llu executions, %s, %zu of %zu orders missed when weakened\n", name,
              static_cast<unsigned long long>(whole.executions()), wrong.empty() ? "sound" : wrong.c_str(),
              missed, whole.places().size());
  return wrong.empty() && missed == whole.places().size() && missed > 0;
}

} // namespace

int main() {
  bool sound = check("control queue", control_queue);
  sound &= check("task queue", task_queue);
  sound &= check("handover", handover);
  sound &= check("helper mask", helper_mask);
  return sound ? 0 : 1;
}
