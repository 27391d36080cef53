#include "watch/gpu/gpu_runtimes.hpp"

#include <array>
#include <atomic>
#include <dlfcn.h>

namespace haloscope::watch {

namespace {

// The numbers of CUDA's driver interface, which HIP has taken over.
enum Attribute : int {
  memory_type = 2,
  buffer_identity = 7,
  is_managed = 8,
  range_start = 11,
  range_size = 12
};
constexpr unsigned cuda_device = 2; // of its kinds of memory

// A function of a library that is in the process already; `libraries` are asked where the program keeps the
// library to itself.
template <class Function, class... Names>
Function *find_loaded(const char *name, Names... libraries) noexcept {
  if (void *found = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<Function *>(found);
  for (const char *library : {libraries...})
    if (void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) {
      void *found = dlsym(handle, name);
      dlclose(handle); // the program holds it, too
      if (found != nullptr) return reinterpret_cast<Function *>(found);
    }
  return nullptr;
}

// Set by whoever finds it first, before `found`.
struct Cuda {
  std::atomic<bool> found{false};
  std::atomic<int (*)(unsigned, int *, void **, std::uintptr_t)> attributes{nullptr};
  std::atomic<int (*)(void *, int, std::uintptr_t)> attribute{nullptr};

  void find() noexcept {
    constexpr const char *library = "libcuda.so.1";
    attribute = find_loaded<int(void *, int, std::uintptr_t)>("cuPointerGetAttribute", library);
    attributes =
        find_loaded<int(unsigned, int *, void **, std::uintptr_t)>("cuPointerGetAttributes", library);
    found = attributes.load() != nullptr;
  }
  bool ask(std::uintptr_t address, Allocation &allocation) const noexcept {
    unsigned kind = 0;
    int managed = 0;
    std::uint64_t identity = 0;
    std::uintptr_t begin = 0;
    std::size_t size = 0;
    std::array<int, 5> wanted{memory_type, is_managed, buffer_identity, range_start, range_size};
    std::array<void *, 5> places{&kind, &managed, &identity, &begin, &size};
    // For unknown memory, the driver leaves all of them zero.
    if (attributes.load(std::memory_order_relaxed)(5, wanted.data(), places.data(), address) != 0)
      return false;
    if (kind == 0 && managed == 0) return false;
    allocation.memory = managed != 0 ? Memory::managed : kind == cuda_device ? Memory::device : Memory::host;
    allocation.begin = begin;
    allocation.end = begin + size;
    allocation.identity = identity;
    return true;
  }
  std::uint64_t identity(std::uintptr_t address) const noexcept {
    const auto one = attribute.load(std::memory_order_relaxed);
    std::uint64_t now = 0;
    return one != nullptr && one(&now, buffer_identity, address) == 0 ? now : 0;
  }
};

struct Hip {
  struct Attributes {
    int type, device;
    void *on_device, *on_host;
    int managed;
    unsigned flags;
    std::array<std::uint64_t, 8> later; // what newer ones may add
  };
  std::atomic<bool> found{false};
  std::atomic<int (*)(Attributes *, const void *)> attributes{nullptr};
  std::atomic<int (*)(void *, int, void *)> attribute{nullptr};
  std::atomic<int (*)(void **, std::size_t *, void *)> range{nullptr};
  std::atomic<int> device_type{2};

  void find() noexcept {
    const auto of = [](auto *kind, const char *name) {
      return find_loaded<std::remove_pointer_t<decltype(kind)>>(name, "libamdhip64.so.7", "libamdhip64.so.6",
                                                                "libamdhip64.so.5", "libamdhip64.so");
    };
    attribute = of(static_cast<int (*)(void *, int, void *)>(nullptr), "hipPointerGetAttribute");
    range = of(static_cast<int (*)(void **, std::size_t *, void *)>(nullptr), "hipMemGetAddressRange");
    attributes = of(static_cast<int (*)(Attributes *, const void *)>(nullptr), "hipPointerGetAttributes");
    int version = 0;
    const auto get_version = of(static_cast<int (*)(int *)>(nullptr), "hipRuntimeGetVersion");
    // Before version 6 its kinds of memory were numbered from 0, for the host's.
    if (get_version != nullptr && get_version(&version) == 0 && version < 60'000'000) device_type = 1;
    found = attributes.load() != nullptr;
  }
  bool ask(std::uintptr_t address, Allocation &allocation) const noexcept {
    auto *place = reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
    Attributes answer{};
    constexpr int managed_type = 3; // since version 6
    const int device = device_type.load(std::memory_order_relaxed);
    if (attributes.load(std::memory_order_relaxed)(&answer, place) != 0) return false;
    if (device == 2 && answer.type == 0 && answer.managed == 0) return false; // not registered
    const bool managed = answer.managed != 0 || (device == 2 && answer.type == managed_type);
    allocation.memory = managed ? Memory::managed : answer.type == device ? Memory::device : Memory::host;
    void *begin = nullptr;
    std::size_t size = 0;
    const auto where = range.load(std::memory_order_relaxed);
    if (where == nullptr || where(&begin, &size, place) != 0) return true;
    allocation.begin = reinterpret_cast<std::uintptr_t>(begin);
    allocation.end = allocation.begin + size;
    allocation.identity = identity(address);
    return true;
  }
  std::uint64_t identity(std::uintptr_t address) const noexcept {
    auto *place = reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
    const auto one = attribute.load(std::memory_order_relaxed);
    std::uint64_t now = 0;
    return one != nullptr && one(&now, buffer_identity, place) == 0 ? now : 0;
  }
};

struct LevelZero {
  struct Properties {
    std::uint32_t structure;
    const void *next;
    std::uint32_t type;
    std::uint64_t identity, page;
    std::array<std::uint64_t, 4> later;
  };
  std::atomic<bool> found{false};
  std::atomic<int (*)(void *, const void *, Properties *, void **)> properties{nullptr};
  std::array<std::atomic<void *>, 4> contexts{};
  std::atomic<unsigned> made{0};

  void find() noexcept {
    properties = find_loaded<int(void *, const void *, Properties *, void **)>("zeMemGetAllocProperties",
                                                                               "libze_loader.so.1");
    found = properties.load() != nullptr;
  }
  // This call returns the identity, and the range would cost a second call. So nothing is cached.
  bool ask(std::uintptr_t address, Allocation &allocation) const noexcept {
    constexpr std::uint32_t structure = 0x17; // ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
    for (const auto &context : contexts) {
      void *held = context.load(std::memory_order_relaxed);
      if (held == nullptr) break;
      Properties answer{.structure = structure};
      void *device = nullptr;
      const auto *place = reinterpret_cast<const void *>(address); // NOLINT(performance-no-int-to-ptr)
      if (properties.load(std::memory_order_relaxed)(held, place, &answer, &device) != 0 || answer.type == 0)
        continue;
      allocation.memory = answer.type == 2   ? Memory::device
                          : answer.type == 3 ? Memory::managed
                                             : Memory::host;
      return true;
    }
    return false;
  }
};

Cuda cuda;
Hip hip;
LevelZero level_zero;

enum Runtime : std::uint8_t { none, of_cuda, of_hip, of_level_zero };

} // namespace

bool find_gpu_runtimes() noexcept {
  if (!cuda.found) cuda.find();
  if (!hip.found) hip.find();
  if (!level_zero.found) level_zero.find();
  return cuda.found || hip.found || level_zero.found;
}

Allocation ask_allocation(std::uintptr_t address) noexcept {
  Allocation allocation;
  if (cuda.found && cuda.ask(address, allocation))
    allocation.runtime = of_cuda;
  else if (hip.found && hip.ask(address, allocation))
    allocation.runtime = of_hip;
  else if (level_zero.found && level_zero.ask(address, allocation))
    allocation.runtime = of_level_zero;
  return allocation;
}

bool is_still(const Allocation &known, std::uintptr_t address) noexcept {
  const std::uint64_t now = known.runtime == of_cuda  ? cuda.identity(address)
                            : known.runtime == of_hip ? hip.identity(address)
                                                      : 0;
  return now != 0 && now == known.identity;
}

void note_level_zero_context(void *context) noexcept {
  const unsigned place = level_zero.made.fetch_add(1, std::memory_order_relaxed);
  level_zero.contexts[place % level_zero.contexts.size()].store(context, std::memory_order_relaxed);
}

} // namespace haloscope::watch
