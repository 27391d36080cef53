// ITT, Intel's notifications. Programs link a small part (libittnotify.a), which opens the library that
// INTEL_LIBITTNOTIFY64 names. That is the recorder, whose __itt_api_init fills the list of functions. Tasks,
// frames and events become regions. All other functions stay as they are without a tool, at no cost.
//
// The declarations below are the binary interface: the beginning of the global record, and the first members
// of the objects that handles point to.
#include "watch/annotations/annotating.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pthread.h>
#include <string_view>

namespace haloscope::watch {

namespace {

struct Function {
  const char *name;
  void **called; // what the program calls through
  void *first;
  void *without; // what belongs there if the tool has no such function
  int group;
};

constexpr std::array<unsigned char, 8> expected_magic{0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
constexpr unsigned long expected_version = 3; // since 2011

struct Part {
  std::array<unsigned char, 8> magic;
  unsigned long version[3];
  long initialized[3];
  pthread_mutex_t mutex;
  void *library, *error_handler;
  const char **path;
  Function *functions; // the last one has no name
};

struct Id { // by value
  std::uint64_t words[3];
};
struct Domain {
  int flags; // 0: switched off
  const char *name;
};
struct String {
  const char *text;
};

bool is_off(const Domain *domain) noexcept { return domain == nullptr || domain->flags == 0; }

// Ends of overlapping tasks and of frames name them by numbers that the program chose, all zero if it has
// none.
std::uint64_t kind_of_id(const Id &id, const Domain *domain) noexcept {
  const std::uint64_t mixed = (id.words[0] * 0x9E37'79B9'7F4A'7C15U) ^
                              (id.words[1] * 0xC2B2'AE3D'27D4'EB4FU) ^ id.words[2] ^
                              reinterpret_cast<std::uintptr_t>(domain);
  return kind_of(Interface::itt, mixed | std::uint64_t{1} << 55U);
}

void task_begin(const Domain *domain, Id /*id*/, Id /*parent*/, const String *name) {
  if (is_off(domain)) return;
  begin_annotation(kind_of(Interface::itt, domain), name == nullptr ? nullptr : name->text);
}
void task_begin_fn(const Domain *domain, Id /*id*/, Id /*parent*/, void * /*function*/) {
  if (!is_off(domain)) begin_annotation(kind_of(Interface::itt, domain), domain->name);
}
void task_end(const Domain *domain) {
  if (!is_off(domain)) end_annotation(kind_of(Interface::itt, domain));
}
void task_begin_overlapped(const Domain *domain, Id id, Id /*parent*/, const String *name) {
  if (!is_off(domain)) begin_annotation(kind_of_id(id, domain), name == nullptr ? nullptr : name->text);
}
void task_end_overlapped(const Domain *domain, Id id) {
  if (!is_off(domain)) end_overlapping(kind_of_id(id, domain));
}
// A frame has no name but its domain's.
void frame_begin(const Domain *domain, const Id *id) {
  if (!is_off(domain)) begin_annotation(kind_of_id(id == nullptr ? Id{} : *id, domain), domain->name);
}
void frame_end(const Domain *domain, const Id *id) {
  if (!is_off(domain)) end_overlapping(kind_of_id(id == nullptr ? Id{} : *id, domain));
}

// Events are numbers. Those beyond these are no regions.
std::array<std::atomic<const char *>, 1024> events{};
std::atomic<int> event_count{0};

int event_create(const char *name, int length) {
  const int event = event_count.fetch_add(1, std::memory_order_relaxed);
  if (name != nullptr && length > 0 && event < static_cast<int>(events.size()))
    events[static_cast<unsigned>(event)] = strndup(name, static_cast<std::size_t>(length));
  return event;
}
std::uint64_t kind_of_event(int event) noexcept {
  return kind_of(Interface::itt, std::uint64_t{1} << 54U | static_cast<unsigned>(event));
}
int event_start(int event) {
  if (event < 0 || event >= static_cast<int>(events.size())) return 0;
  if (const char *name = events[static_cast<unsigned>(event)]) begin_annotation(kind_of_event(event), name);
  return 0;
}
int event_end(int event) {
  end_overlapping(kind_of_event(event));
  return 0;
}

struct Ours {
  std::string_view name;
  void *function;
};
template <class Function> Ours ours(std::string_view name, Function *function) noexcept {
  return {name, reinterpret_cast<void *>(function)};
}

// The functions that a program calls, by the names in its list.
void fill(const Part &part) noexcept {
  const std::array functions{
      ours("__itt_task_begin", task_begin),
      ours("__itt_task_begin_fn", task_begin_fn),
      ours("__itt_task_end", task_end),
      ours("__itt_task_begin_overlapped", task_begin_overlapped),
      ours("__itt_task_end_overlapped", task_end_overlapped),
      ours("__itt_frame_begin_v3", frame_begin),
      ours("__itt_frame_end_v3", frame_end),
      ours("__itt_event_create", event_create),
      ours("__itt_event_createA", event_create),
      ours("__itt_event_start", event_start),
      ours("__itt_event_end", event_end),
  };
  for (Function *each = part.functions; each->name != nullptr; each++) {
    const auto *const found = std::ranges::find(functions, std::string_view{each->name}, &Ours::name);
    *each->called = found == functions.end() ? each->without : found->function;
  }
}

void empty(const Part &part) noexcept {
  for (Function *each = part.functions; each->name != nullptr; each++) *each->called = each->without;
}

} // namespace

} // namespace haloscope::watch

// Each library that has the linked part in it calls it for itself.
// NOLINTNEXTLINE(bugprone-reserved-identifier): its name is the interface
extern "C" __attribute__((visibility("default"))) void __itt_api_init(void *global, int /*groups*/) {
  using namespace haloscope::watch;
  const auto *part = static_cast<const Part *>(global);
  if (part == nullptr || part->magic != expected_magic || part->version[0] != expected_version) return;
  if (!is_wanted(Interface::itt)) {
    empty(*part);
    return;
  }
  fill(*part);
  note_use(Interface::itt);
}
