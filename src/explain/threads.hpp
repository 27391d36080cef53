// Threads of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace haloscope::explain {

// Calls worker() in up to `threads` threads, this one included.
template <class Worker> void in_threads(int64_t threads, const Worker &worker) {
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(threads - 1));
  try {
    while (others.size() < others.capacity()) others.emplace_back(worker);
  } catch (const std::system_error &) {
    others.shrink_to_fit(); // the system has no more: those that there are do the work
  }
  worker();
  for (std::thread &other : others) other.join();
}

} // namespace haloscope::explain
