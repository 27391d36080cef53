#include "watch/annotations/used.hpp"

#include "watch/metadata.hpp"

#include <array>
#include <mutex>
#include <string>

namespace haloscope::watch {

namespace {
constexpr std::array names{"caliper", "adiak", "kokkos", "nvtx", "itt", "petsc", "hypre", "p4est"};
std::mutex saying; // so that the last row has all of them
} // namespace

std::atomic<unsigned> interfaces_used{0};

void say_interface(Interface used) noexcept try {
  const std::lock_guard lock{saying};
  const unsigned bits = interfaces_used.load(std::memory_order_relaxed) | 1U << static_cast<unsigned>(used);
  interfaces_used.store(bits, std::memory_order_relaxed);
  std::string all;
  for (unsigned i = 0; i < names.size(); i++)
    if ((bits & 1U << i) != 0) all += (all.empty() ? "" : ", ") + std::string{names[i]};
  add_metadata("annotations", all.c_str());
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for it, and nothing that the program should know
}

} // namespace haloscope::watch
