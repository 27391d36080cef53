#include "watch/gpu/device_memory.hpp"

#include "interpose/library.hpp"

#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace haloscope::watch {

std::atomic<bool> has_gpu_runtime{false};

void look_for_gpu() noexcept {
#if !defined(HALOSCOPE_ABI_SIMGRID)
  // Only libraries that came since can have brought one.
  static std::atomic<unsigned long long> looked_at{0};
  unsigned long long loaded = 0;
  const auto first = [](dl_phdr_info *about, std::size_t, void *to) {
    *static_cast<unsigned long long *>(to) = about->dlpi_adds;
    return 1;
  };
  dl_iterate_phdr(first, &loaded);
  if (looked_at.exchange(loaded, std::memory_order_relaxed) == loaded) return;
  if (find_gpu_runtimes()) has_gpu_runtime.store(true, std::memory_order_release);
#endif
}

namespace {

void find_own_stack(KnownMemory &known) noexcept {
  pthread_attr_t attributes;
  void *begin = nullptr;
  std::size_t size = 0;
  known.stack_end = 1; // asked for once
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &begin, &size) == 0) {
    known.stack_begin = reinterpret_cast<std::uintptr_t>(begin);
    known.stack_end = known.stack_begin + size;
  }
  pthread_attr_destroy(&attributes);
}

// The program's data and the heap behind them; threads' heaps and large blocks lie elsewhere.
bool is_of_program(std::uintptr_t address) noexcept {
  static const std::uintptr_t begin = getauxval(AT_PHDR) & ~std::uintptr_t{0xFFF};
  return address >= begin && address < reinterpret_cast<std::uintptr_t>(sbrk(0));
}

MPI_Aint lowest_of(KnownMemory &known, MPI_Datatype datatype) noexcept {
  if (datatype == MPI_DATATYPE_NULL) return 0;
  const std::uintptr_t value = interpose::value_of(datatype);
  auto &entry = known.lowest[(value ^ value >> 8U) % known.lowest.size()];
  if (entry.is_known && entry.datatype == datatype) return entry.offset;
  MPI_Aint lowest = 0;
  MPI_Aint extent = 0;
  if (interpose::real.Type_get_true_extent(datatype, &lowest, &extent) != MPI_SUCCESS) return 0;
  entry = {datatype, lowest, true};
  return lowest;
}

} // namespace

std::uintptr_t first_byte(KnownMemory &known, const void *buffer, MPI_Datatype datatype) noexcept {
  return reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(lowest_of(known, datatype));
}

Memory memory_at(KnownMemory &known, std::uintptr_t address) noexcept {
  if (known.stack_end == 0) find_own_stack(known);
  if ((address >= known.stack_begin && address < known.stack_end) || is_of_program(address))
    return Memory::host;
  for (unsigned i = 0; i < KnownMemory::most; i++) {
    const unsigned place = (known.latest + i) % KnownMemory::most;
    Allocation &entry = known.allocations[place];
    if (address < entry.begin || address >= entry.end) continue;
    if (!is_still(entry, address)) {
      entry = {};
      continue;
    }
    known.latest = place;
    return entry.memory;
  }
  const Allocation found = ask_allocation(address);
  if (found.identity != 0 && found.begin <= address && address < found.end) {
    known.latest = known.next;
    known.allocations[known.next] = found;
    known.next = (known.next + 1) % KnownMemory::most;
  }
  return found.memory;
}

} // namespace haloscope::watch
