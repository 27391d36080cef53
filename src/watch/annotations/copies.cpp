// Copies between a GPU and its host. Each copy counts in the region that makes it. The host memory that it
// fills is remembered until MPI sends it. Only calls of shared libraries are seen: CUDA's driver, HIP, and
// CUDA's runtime unless it is linked statically, which is the default of nvcc.
#include "watch/annotations/following.hpp"
#include "watch/counting/state.hpp"
#include "watch/records/clock.hpp"

namespace haloscope::watch {

namespace {

enum Direction : int { to_device = 1, to_host = 2, by_addresses = 4 }; // as CUDA and HIP number them

// A thread's copy that is running. What MPI copies by itself within its calls is no copy of the program's.
class Copy {
public:
  Copy() noexcept : state_(global().phase == Phase::running ? this_thread() : nullptr) {
    if (state_ != nullptr && is_inside_call(*state_)) state_ = nullptr;
    if (state_ != nullptr) begin_ = ticks();
  }
  int note_copy(int result, void *to, const void *from, std::uint64_t bytes, int direction) noexcept {
    if (state_ == nullptr || result != 0 || bytes == 0) return result;
    const std::uint64_t duration = ticks() - begin_;
    if (direction == by_addresses) direction = found_direction(to, from);
    if (direction == to_device || direction == to_host) count(to, bytes, direction, duration);
    return result;
  }

private:
  int found_direction(const void *to, const void *from) noexcept {
    const Memory source = memory_at(state_->known_memory, reinterpret_cast<std::uintptr_t>(from));
    const Memory target = memory_at(state_->known_memory, reinterpret_cast<std::uintptr_t>(to));
    if (source == Memory::device && target == Memory::host) return to_host;
    return source == Memory::host && target == Memory::device ? to_device : 0;
  }
  void count(const void *to, std::uint64_t bytes, int direction, std::uint64_t duration) noexcept {
    Node &node = *state_->node;
    node.device_copies++;
    node.device_copy_bytes += bytes;
    node.device_copy_ticks += duration;
    if (direction == to_host) note_copied(state_->known_memory, to, bytes);
  }

  ThreadState *state_;
  std::uint64_t begin_ = 0;
};

} // namespace

} // namespace haloscope::watch

using namespace haloscope::watch;

// Addresses on the host or on the device, and streams.
#define HALOSCOPE_COPY(name, direction, to, from, bytes, parameters, ...)                                    \
  extern "C" __attribute__((visibility("default"))) int name parameters {                                    \
    static constinit Following<int(*) parameters> next{#name};                                               \
    Copy copy;                                                                                               \
    const int result = next(__builtin_return_address(0), __VA_ARGS__);                                       \
    return copy.note_copy(result, reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes, \
                          direction);                                                                        \
  }

// NOLINTBEGIN(performance-no-int-to-ptr): the driver's addresses are integers
HALOSCOPE_COPY(cudaMemcpy, kind, to, from, bytes, (void *to, const void *from, std::size_t bytes, int kind),
               to, from, bytes, kind)
HALOSCOPE_COPY(cudaMemcpyAsync, kind, to, from, bytes,
               (void *to, const void *from, std::size_t bytes, int kind, void *stream), to, from, bytes, kind,
               stream)
HALOSCOPE_COPY(hipMemcpy, kind, to, from, bytes, (void *to, const void *from, std::size_t bytes, int kind),
               to, from, bytes, kind)
HALOSCOPE_COPY(hipMemcpyAsync, kind, to, from, bytes,
               (void *to, const void *from, std::size_t bytes, int kind, void *stream), to, from, bytes, kind,
               stream)
HALOSCOPE_COPY(hipMemcpyDtoH, to_host, to, from, bytes, (void *to, void *from, std::size_t bytes), to, from,
               bytes)
HALOSCOPE_COPY(hipMemcpyHtoD, to_device, to, from, bytes, (void *to, void *from, std::size_t bytes), to, from,
               bytes)
HALOSCOPE_COPY(cuMemcpyDtoH_v2, to_host, to, from, bytes, (void *to, std::uintptr_t from, std::size_t bytes),
               to, from, bytes)
HALOSCOPE_COPY(cuMemcpyHtoD_v2, to_device, to, from, bytes,
               (std::uintptr_t to, const void *from, std::size_t bytes), to, from, bytes)
HALOSCOPE_COPY(cuMemcpyDtoHAsync_v2, to_host, to, from, bytes,
               (void *to, std::uintptr_t from, std::size_t bytes, void *stream), to, from, bytes, stream)
HALOSCOPE_COPY(cuMemcpyHtoDAsync_v2, to_device, to, from, bytes,
               (std::uintptr_t to, const void *from, std::size_t bytes, void *stream), to, from, bytes,
               stream)
// NOLINTEND(performance-no-int-to-ptr)

// Level Zero describes an address only together with the context in which it was allocated.
extern "C" __attribute__((visibility("default"))) int zeContextCreate(void *driver, const void *description,
                                                                      void **context) {
  static constinit Following<int (*)(void *, const void *, void **)> next{"zeContextCreate"};
  const int result = next(__builtin_return_address(0), driver, description, context);
  if (result == 0 && context != nullptr) note_level_zero_context(*context);
  return result;
}
