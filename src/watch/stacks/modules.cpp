#include "watch/stacks/modules.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <unistd.h>

namespace haloscope::watch {

namespace {

std::atomic<std::uint32_t> unloaded{0};

struct Found {
  std::uintptr_t address;
  Extent extent{};
  std::uintptr_t base = 0;
  std::string path, build;
  bool is_program = false;
};

std::string build_id(std::uintptr_t at, std::size_t bytes) {
  constexpr std::size_t longest = 20;
  while (bytes >= sizeof(ElfW(Nhdr))) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at); // NOLINT(performance-no-int-to-ptr)
    const std::size_t name = (note->n_namesz + 3U) & ~3U;
    const std::size_t size = sizeof *note + name + ((note->n_descsz + 3U) & ~3U);
    if (size > bytes) break;
    const auto *text = reinterpret_cast<const char *>(note + 1);
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(text, "GNU", 4) == 0) {
      std::string hexadecimal;
      for (std::size_t i = 0; i < std::min<std::size_t>(note->n_descsz, longest); i++) {
        const auto byte = static_cast<unsigned char>(text[name + i]);
        hexadecimal += {"0123456789abcdef"[byte >> 4U], "0123456789abcdef"[byte & 15U]};
      }
      return hexadecimal;
    }
    at += size;
    bytes -= size;
  }
  return {};
}

std::string path_of(const char *name) {
  if (name != nullptr && *name != '\0') return name;
  std::array<char, PATH_MAX> path{}; // of the executable
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string{path.data(), static_cast<std::size_t>(length)} : std::string{"?"};
}

// Called for each module.
int match(dl_phdr_info *info, std::size_t /*size*/, void *data) {
  Found &found = *static_cast<Found *>(data);
  const std::uintptr_t base = info->dlpi_addr;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    const std::uintptr_t begin = base + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || found.address < begin || found.address >= begin + segment.p_memsz)
      continue;
    found.extent = {begin, begin + segment.p_memsz};
    found.base = base;
    found.is_program = info->dlpi_name == nullptr || *info->dlpi_name == '\0';
    found.path = path_of(info->dlpi_name);
    for (unsigned k = 0; k < info->dlpi_phnum && found.build.empty(); k++)
      if (info->dlpi_phdr[k].p_type == PT_NOTE)
        found.build = build_id(base + info->dlpi_phdr[k].p_vaddr, info->dlpi_phdr[k].p_memsz);
    return 1;
  }
  return 0;
}

int count_changes(dl_phdr_info *info, std::size_t /*size*/, void *data) {
  *static_cast<std::uint64_t *>(data) = info->dlpi_adds + info->dlpi_subs;
  return 1; // they are the same for all
}

const Module *describe(const Found &found, Arena &arena) {
  auto *module = arena.make<Module>();
  auto *path = static_cast<char *>(arena.allocate(found.path.size() + 1));
  if (module == nullptr || path == nullptr) return nullptr;
  std::ranges::copy(found.path, path);
  module->base = found.base;
  module->path = path;
  std::ranges::copy(found.build, module->build.begin());
  module->is_program = found.is_program;
  return module;
}

} // namespace

Extent extent_around(std::uintptr_t address) noexcept {
  Found found{address};
  dl_iterate_phdr(match, &found);
  return found.extent;
}

const Module *Modules::find(std::uintptr_t address, Arena &arena) {
  for (const Known &known : known_)
    if (known.extent.contains(address)) return known.module;
  Found found{address};
  if (dl_iterate_phdr(match, &found) == 0) return nullptr;
  const Module *module = describe(found, arena);
  if (module != nullptr) known_.push_back({found.extent, module});
  return module;
}

bool Modules::is_own(std::uintptr_t address) noexcept {
  static const Extent own = extent_around(reinterpret_cast<std::uintptr_t>(&extent_around));
  return own.contains(address);
}

bool Modules::have_changed() noexcept {
  const std::uint64_t before = changes_;
  dl_iterate_phdr(count_changes, &changes_);
  if (changes_ == before) return false;
  known_.clear();
  return true;
}

std::uint32_t Modules::unloadings() noexcept { return unloaded.load(std::memory_order_relaxed); }

} // namespace haloscope::watch

// The program's, before the C library's. Counted twice, as destructors may call MPI, and other threads load
// something, meanwhile.
extern "C" [[gnu::visibility("default")]] int dlclose(void *handle) noexcept {
  using Close = int(void *);
  static auto *const close = reinterpret_cast<Close *>(dlsym(RTLD_NEXT, "dlclose"));
  haloscope::watch::unloaded.fetch_add(1, std::memory_order_relaxed);
  const int result = close == nullptr ? -1 : close(handle);
  haloscope::watch::unloaded.fetch_add(1, std::memory_order_relaxed);
  return result;
}
