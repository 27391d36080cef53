// Fixed work quanta: repeats the same work on each processor, and records the time of each repetition. Time
// beyond the fastest repetition was taken by the system, other programs or a slower clock. Needs no MPI.
#include "predict/measure/command_line.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <thread>

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// A chain of operations each of which waits for the one before; no memory.
uint64_t work(uint64_t state, long long steps) {
  for (long long i = 0; i < steps; i++) state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return state;
}

struct Probe {
  long long cpu = 0;
  bool bound = false;
  double start = 0;
  std::vector<float> samples; // nanoseconds
  uint64_t state = 1;

  [[nodiscard]] bool bind() const {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
    CPU_SET(static_cast<size_t>(cpu), &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
  }

  // The number of steps that take one quantum at best.
  long long calibrate(double quantum) {
    constexpr long long tried_steps = 1000;
    double best = 1e18;
    for (int i = 0; i < 200; i++) {
      const double before = now();
      state = work(state, tried_steps);
      best = std::min(best, now() - before);
    }
    return std::max(1LL, std::llround(quantum / best * tried_steps));
  }

  void run(double quantum, double duration) {
    bound = bind();
    if (!bound) return;
    const long long steps = calibrate(quantum);
    std::ranges::fill(samples, 1.0F); // touched before
    start = now();
    double last = start;
    size_t taken = 0;
    while (taken < samples.size() && last - start < duration) {
      state = work(state, steps);
      const double time = now();
      samples[taken++] = static_cast<float>(time - last);
      last = time;
    }
    samples.resize(taken);
  }

  void print() const {
    std::printf(R"({"record":"noise","cpu":%lld,"bound":%s,"start_ns":%.0f,"check":%d,"samples_ns":[)", cpu,
                bound ? "true" : "false", start, static_cast<int>(state & 1));
    for (size_t i = 0; bound && i < samples.size(); i++)
      std::printf("%s%.0f", i ? "," : "", static_cast<double>(samples[i]));
    std::puts("]}");
  }
};

} // namespace

int main(int count, char **words) {
  const measure::Options options(count, words);
  const double quantum = options.number("quantum", 1e4);
  const double duration = options.number("duration", 1e9);
  std::vector<Probe> probes;
  for (const long long cpu : options.integers("cpus")) {
    Probe probe;
    probe.cpu = cpu;
    probe.samples.resize(static_cast<size_t>(duration / quantum * 1.5) + 1);
    probes.push_back(std::move(probe));
  }
  std::vector<std::thread> threads;
  threads.reserve(probes.size());
  for (auto &probe : probes) threads.emplace_back([&] { probe.run(quantum, duration); });
  for (auto &thread : threads) thread.join();
  for (const auto &probe : probes) probe.print();
  return 0;
}
