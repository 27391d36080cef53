// A model checker for algorithms on shared memory. It runs a small scenario in all its interleavings. Each
// load sees all values that C++'s memory model allows, as on a weakly ordered machine.
//
// Threads are fibres. A store to a variable with one writer needs no turn: other threads may still read the
// old value. Plain data must be ordered by releases and acquires; vector clocks check that. Any one place in
// the source can be weakened to relaxed, which a scenario must detect.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <ucontext.h>
#include <vector>

namespace model {

inline constexpr std::size_t most_threads = 3;
using Clock = std::array<unsigned, most_threads>;
using Place = std::pair<std::string, unsigned>; // file and line
using Body = std::function<void()>;

// One scenario, created for each execution: its threads capture their shared data.
using Scenario = std::function<std::vector<Body>()>;

class Checker {
public:
  explicit Checker(std::optional<Place> weakened = {}) : weakened_(std::move(weakened)) {}

  // Returns the first error, or an empty string.
  std::string run(const Scenario &scenario);
  std::uint64_t executions() const { return executions_; }
  // Places with an order stronger than relaxed.
  const std::map<Place, bool> &places() const { return places_; }

  // The checker of the running scenario.
  static Checker &now() { return *current_; }
  void fail(const std::string &what) {
    if (failure_.empty()) failure_ = what;
  }
  void turn();                          // lets any thread go on
  std::size_t choose(std::size_t ways); // returns one of `ways`
  std::memory_order order(std::memory_order asked, const std::source_location &where);
  std::size_t self() const { return self_; }
  Clock &clock() { return clocks_[self_]; }
  unsigned tick() { return ++clock()[self_]; }
  bool happened(std::size_t thread, unsigned time) { return time <= clock()[thread]; }

private:
  struct Choice {
    std::size_t taken, ways;
  };
  void execute(const Scenario &scenario);
  static void enter(unsigned thread);

  static inline Checker *current_ = nullptr;
  std::optional<Place> weakened_;
  std::map<Place, bool> places_;
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
  std::uint64_t executions_ = 0;
  std::string failure_;
  std::vector<Body> bodies_;
  std::array<ucontext_t, most_threads> fibres_{};
  std::array<bool, most_threads> done_{};
  std::array<std::vector<char>, most_threads> stacks_{};
  std::array<Clock, most_threads> clocks_{};
  ucontext_t scheduler_{};
  std::size_t self_ = 0;
};

inline void join(Clock &clock, const Clock &other) {
  for (std::size_t i = 0; i < clock.size(); i++) clock[i] = std::max(clock[i], other[i]);
}

inline bool acquires(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
inline bool releases(std::memory_order order) {
  return order != std::memory_order_relaxed && order != std::memory_order_acquire;
}

// Data without memory order: each access must happen after the previous one.
template <class T> class Plain {
public:
  Plain() = default;
  Plain &operator=(const T &value) { // NOLINT(misc-unconventional-assign-operator)
    Checker &checker = Checker::now();
    check(written_, "written");
    for (const Clock &read : reads_) check(read, "read");
    written_[checker.self()] = checker.tick();
    value_ = value;
    return *this;
  }
  operator T() const { // NOLINT(*-explicit-constructor): reads as data does
    Checker &checker = Checker::now();
    check(written_, "written");
    reads_[checker.self()][checker.self()] = checker.tick();
    return value_;
  }

private:
  static void check(const Clock &events, const char *what) {
    for (std::size_t thread = 0; thread < events.size(); thread++)
      if (!Checker::now().happened(thread, events[thread]))
        Checker::now().fail(std::string{"plain data is touched while another thread has "} + what + " it");
  }

  T value_{};
  Clock written_{};
  mutable std::array<Clock, most_threads> reads_{};
};

template <class T, bool contended> class Variable {
public:
  using Where = std::source_location;

  T load(std::memory_order asked, const Where &where = Where::current()) const {
    Checker &checker = Checker::now();
    checker.turn();
    const std::memory_order order = checker.order(asked, where);
    const std::size_t oldest = visible(), index = oldest + checker.choose(stores_.size() - oldest);
    if (acquires(order)) join(checker.clock(), stores_[index].released);
    reads_.push_back({checker.self(), checker.tick(), index});
    return stores_[index].value;
  }
  void store(T value, std::memory_order asked, const Where &where = Where::current()) {
    Checker &checker = Checker::now();
    if (contended) checker.turn();
    const std::memory_order order = checker.order(asked, where);
    if (!contended && !checker.happened(stores_.back().thread, stores_.back().time))
      checker.fail("a variable of one writer has two");
    append(value, order, {});
  }
  T fetch_or(T bits, std::memory_order asked, const Where &where = Where::current()) {
    return change(asked, where, [&](T old) { return old | bits; });
  }
  T fetch_and(T bits, std::memory_order asked, const Where &where = Where::current()) {
    return change(asked, where, [&](T old) { return old & bits; });
  }
  bool compare_exchange_strong(T &expected, T wanted, std::memory_order asked,
                               const Where &where = Where::current()) {
    const T old = change(asked, where, [&](T now) { return now == expected ? wanted : now; });
    const bool same = old == expected;
    expected = old;
    return same;
  }

private:
  struct Store {
    T value;
    std::size_t thread;
    unsigned time;
    Clock released; // the clock that an acquire joins
  };
  struct Read {
    std::size_t thread;
    unsigned time;
    std::size_t index;
  };

  // The oldest visible store: not older than a store that happened or was read before.
  std::size_t visible() const {
    std::size_t oldest = stores_.size() - 1;
    while (!Checker::now().happened(stores_[oldest].thread, stores_[oldest].time)) oldest--;
    for (const Read &read : reads_)
      if (read.index > oldest && Checker::now().happened(read.thread, read.time)) oldest = read.index;
    return oldest;
  }
  void append(T value, std::memory_order order, const Clock &released) {
    Checker &checker = Checker::now();
    const unsigned time = checker.tick();
    Clock after = released;
    if (releases(order)) join(after, checker.clock());
    stores_.push_back({value, checker.self(), time, after});
  }
  // Reads the newest value, and continues its release sequence.
  template <class Function> T change(std::memory_order asked, const Where &where, Function function) {
    Checker &checker = Checker::now();
    checker.turn();
    const std::memory_order order = checker.order(asked, where);
    const Store last = stores_.back();
    if (acquires(order)) join(checker.clock(), last.released);
    append(function(last.value), order, last.released);
    return last.value;
  }

  std::vector<Store> stores_{{T{}, 0, 0, {}}};
  mutable std::vector<Read> reads_;
};

// In place of haloscope::halo::Machine.
struct Memory {
  template <class T> using Plain = model::Plain<T>;
  template <class T> using Atomic = Variable<T, false>;
  template <class T> using Contended = Variable<T, true>;
};

} // namespace model
