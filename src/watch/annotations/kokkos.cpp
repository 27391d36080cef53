// Kokkos Tools: Kokkos opens the library that KOKKOS_TOOLS_LIBS names, which is the recorder, and calls these
// by name (its interface 20171029 and newer, in C). Regions, kernels, fences, copies and sections become
// regions. It is not asked to wait for devices before it calls: a kernel of a device lasts as long as its
// launch.
#include "watch/annotations/annotating.hpp"
#include "watch/counting/metadata.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

namespace haloscope::watch {

namespace {

enum Which : std::uint64_t { user_region, kernel, fence, copy, section };

std::uint64_t kind(Which which, std::uint64_t number = 0) noexcept {
  return kind_of(Interface::kokkos, static_cast<std::uint64_t>(which) << 48U | number);
}

bool is_enabled() noexcept {
  static const bool is = is_wanted(Interface::kokkos);
  if (is) note_use(Interface::kokkos);
  return is;
}

// Kernels and fences end by numbers of ours. A thread's are nested: one that has no end goes with the one
// around.
void begin_numbered(Which which, const char *name, std::uint64_t *number) noexcept {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number != nullptr) *number = mine;
  if (!is_enabled()) return;
  begin_annotation(kind(which, mine & 0xFFFF'FFFF'FFFFU), name);
}
void end_numbered(Which which, std::uint64_t number) noexcept {
  if (is_enabled()) end_annotation(kind(which, number & 0xFFFF'FFFF'FFFFU));
}

// Before a fence's own name: "fence: NAME".
void begin_fence(const char *name, std::uint64_t *number) noexcept {
  constexpr const char *prefix = "fence: ";
  std::array<char, longest_annotation + 2> text{};
  std::strcpy(text.data(), prefix);
  std::strncat(text.data(), name == nullptr ? "" : name, text.size() - std::strlen(prefix) - 1);
  begin_numbered(fence, text.data(), number);
}

// Sections are made once and started many times. Beyond these they are no regions.
std::array<std::atomic<const char *>, 1024> sections{};
std::atomic<std::uint32_t> section_count{0};

const char *section_name(std::uint32_t number) noexcept {
  return number < sections.size() ? sections[number].load(std::memory_order_acquire) : nullptr;
}

// Kokkos before 3.7 knows only the older variable, which newer ones complain about: it is set where the
// program has an old one in a library of its own. Before main, so before Kokkos looks.
[[gnu::constructor]] void introduce() noexcept {
  constexpr const char *initialize = "_ZN6Kokkos10initializeERiPPc"; // Kokkos::initialize(int &, char **)
  constexpr const char *newer =
      "_ZN6Kokkos5Tools4Impl27parse_environment_variablesERNS0_13InitArgumentsE"; // since 3.7
  // NOLINTBEGIN(concurrency-mt-unsafe): nothing else runs yet
  const char *tool = std::getenv("KOKKOS_TOOLS_LIBS");
  if (tool == nullptr || !std::string_view{tool}.ends_with("libhaloscope-watch.so") ||
      std::getenv("KOKKOS_PROFILE_LIBRARY") != nullptr)
    return;
  if (dlsym(RTLD_DEFAULT, initialize) == nullptr || dlsym(RTLD_DEFAULT, newer) != nullptr) return;
  setenv("KOKKOS_PROFILE_LIBRARY", tool, 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

} // namespace

} // namespace haloscope::watch

using namespace haloscope::watch;

extern "C" {
#define HALOSCOPE_EXPORT __attribute__((visibility("default")))

// A place in memory, as Kokkos hands it over: by value.
struct HaloscopeKokkosSpace {
  char name[64];
};
// Settings that a tool can request. Kokkos has set the first to true.
struct HaloscopeKokkosSettings {
  bool wait_for_devices;
  bool reserved[255];
};

HALOSCOPE_EXPORT void kokkosp_init_library(int /*order*/, std::uint64_t /*version*/,
                                           std::uint32_t /*devices*/, void * /*described*/) {
  (void)is_enabled();
}
HALOSCOPE_EXPORT void kokkosp_finalize_library() {}
HALOSCOPE_EXPORT void kokkosp_request_tool_settings(std::uint32_t /*count*/,
                                                    HaloscopeKokkosSettings *settings) {
  if (settings != nullptr) settings->wait_for_devices = false;
}

HALOSCOPE_EXPORT void kokkosp_push_profile_region(const char *name) {
  if (is_enabled()) begin_annotation(kind(user_region), name);
}
HALOSCOPE_EXPORT void kokkosp_pop_profile_region() {
  if (is_enabled()) end_annotation(kind(user_region));
}

HALOSCOPE_EXPORT void kokkosp_begin_parallel_for(const char *name, std::uint32_t /*device*/,
                                                 std::uint64_t *id) {
  begin_numbered(kernel, name, id);
}
HALOSCOPE_EXPORT void kokkosp_end_parallel_for(std::uint64_t id) { end_numbered(kernel, id); }
HALOSCOPE_EXPORT void kokkosp_begin_parallel_reduce(const char *name, std::uint32_t /*device*/,
                                                    std::uint64_t *id) {
  begin_numbered(kernel, name, id);
}
HALOSCOPE_EXPORT void kokkosp_end_parallel_reduce(std::uint64_t id) { end_numbered(kernel, id); }
HALOSCOPE_EXPORT void kokkosp_begin_parallel_scan(const char *name, std::uint32_t /*device*/,
                                                  std::uint64_t *id) {
  begin_numbered(kernel, name, id);
}
HALOSCOPE_EXPORT void kokkosp_end_parallel_scan(std::uint64_t id) { end_numbered(kernel, id); }
HALOSCOPE_EXPORT void kokkosp_begin_fence(const char *name, std::uint32_t /*device*/, std::uint64_t *id) {
  begin_fence(name, id);
}
HALOSCOPE_EXPORT void kokkosp_end_fence(std::uint64_t id) { end_numbered(fence, id); }

HALOSCOPE_EXPORT void kokkosp_begin_deep_copy(HaloscopeKokkosSpace /*to*/, const char * /*to_name*/,
                                              const void * /*to_place*/, HaloscopeKokkosSpace /*from*/,
                                              const char * /*from_name*/, const void * /*from_place*/,
                                              std::uint64_t /*bytes*/) {
  if (is_enabled()) begin_annotation(kind(copy), "deep_copy");
}
HALOSCOPE_EXPORT void kokkosp_end_deep_copy() {
  if (is_enabled()) end_annotation(kind(copy));
}

HALOSCOPE_EXPORT void kokkosp_create_profile_section(const char *name, std::uint32_t *id) {
  const std::uint32_t number = section_count.fetch_add(1, std::memory_order_relaxed);
  if (id != nullptr) *id = number;
  if (is_enabled() && name != nullptr && number < sections.size()) sections[number] = strdup(name);
}
HALOSCOPE_EXPORT void kokkosp_start_profile_section(std::uint32_t id) {
  if (!is_enabled()) return;
  if (const char *name = section_name(id)) begin_annotation(kind(section, id), name);
}
HALOSCOPE_EXPORT void kokkosp_stop_profile_section(std::uint32_t id) {
  if (is_enabled()) end_overlapping(kind(section, id));
}
HALOSCOPE_EXPORT void kokkosp_destroy_profile_section(std::uint32_t /*id*/) {}

HALOSCOPE_EXPORT void kokkosp_declare_metadata(const char *key, const char *value) {
  if (is_enabled()) add_metadata(key, value);
}
}
