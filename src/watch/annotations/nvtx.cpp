// NVTX: the headers that programs include open the library that NVTX_INJECTION64_PATH names, which is the
// recorder, and call InitializeInjectionNvtx2 with a function that gives tables. An entry of such a table is
// the address of the pointer that the program calls through. Ranges become regions; marks have no length and
// don't.
//
// What follows is the interface as binary programs have it: numbers of tables and of their entries, and the
// part of the attributes of a range that says its name.
#include "watch/annotations/annotating.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string_view>

namespace haloscope::watch {

namespace {

constexpr std::uint32_t callbacks_table = 1;
constexpr int core = 1, domains = 5;
enum Core : unsigned { start_ex = 4, start_a, start_w, end_range, push_ex, push_a, push_w, pop };
enum Domain : unsigned {
  domain_start = 2,
  domain_end = 3,
  domain_push = 4,
  domain_pop = 5,
  register_a = 10,
  register_w = 11,
  create_a = 12,
  create_w = 13,
  destroy = 14
};

struct Callbacks {
  std::size_t size;
  int (*table_of)(int module, void ****table, unsigned *entries);
};

struct NvtxAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void *message;
};
enum Message : std::int32_t { narrow = 1, wide, registered };

using Text = std::array<char, std::size_t{2} * longest_annotation>;

// A character that has no place in ASCII becomes a question mark: which encoding names have is not known.
const char *to_narrow(Text &to, const wchar_t *name) noexcept {
  std::size_t i = 0;
  for (; name != nullptr && name[i] != 0 && i + 1 < to.size(); i++)
    to[i] = name[i] > 0 && name[i] < 0x80 ? static_cast<char>(name[i]) : '?';
  to[i] = '\0';
  return to.data();
}

const char *name_of(Text &text, const NvtxAttributes *attributes) noexcept {
  if (attributes == nullptr || attributes->size < sizeof(NvtxAttributes)) return nullptr;
  switch (attributes->message_type) {
  case narrow:
  case registered:
    return static_cast<const char *>(attributes->message); // a handle is our copy of the text
  case wide:
    return to_narrow(text, static_cast<const wchar_t *>(attributes->message));
  default:
    return nullptr;
  }
}

// How deep the calling thread's ranges are: what a push and a pop give back.
__thread int depth __attribute__((tls_model("initial-exec"))) = 0;

int push(const void *domain, const char *name) noexcept {
  begin_annotation(kind_of(Interface::nvtx, domain), name);
  return depth++;
}
int pop_of(const void *domain) noexcept {
  end_annotation(kind_of(Interface::nvtx, domain));
  return depth > 0 ? --depth : -1;
}

// No domain has an address like this.
std::uint64_t kind_of_range(std::uint64_t range) noexcept {
  return kind_of(Interface::nvtx, range | std::uint64_t{1} << 55U);
}
std::uint64_t start(const char *name) noexcept {
  static std::atomic<std::uint64_t> last{0};
  const std::uint64_t range = last.fetch_add(1, std::memory_order_relaxed) + 1;
  begin_annotation(kind_of_range(range), name);
  return range;
}

// The functions that programs call.
int push_range_ex(const NvtxAttributes *attributes) {
  Text text;
  return push(nullptr, name_of(text, attributes));
}
int push_range_a(const char *name) { return push(nullptr, name); }
int push_range_w(const wchar_t *name) {
  Text text;
  return push(nullptr, to_narrow(text, name));
}
int pop_range() { return pop_of(nullptr); }
std::uint64_t start_range_ex(const NvtxAttributes *attributes) {
  Text text;
  return start(name_of(text, attributes));
}
std::uint64_t start_range_a(const char *name) { return start(name); }
std::uint64_t start_range_w(const wchar_t *name) {
  Text text;
  return start(to_narrow(text, name));
}
void end_of_range(std::uint64_t range) { end_overlapping(kind_of_range(range)); }

int push_in_domain(const void *domain, const NvtxAttributes *attributes) {
  Text text;
  return push(domain, name_of(text, attributes));
}
int pop_in_domain(const void *domain) { return pop_of(domain); }
std::uint64_t start_in_domain(const void * /*domain*/, const NvtxAttributes *attributes) {
  return start_range_ex(attributes);
}
void end_in_domain(const void * /*domain*/, std::uint64_t range) { end_of_range(range); }

// Handles are texts of ours. They stay: a program has few, and may use one after it has given up its domain.
const void *copy_name(const char *name) noexcept { return strdup(name == nullptr ? "" : name); }
const void *register_string_a(const void * /*domain*/, const char *text) { return copy_name(text); }
const void *register_string_w(const void * /*domain*/, const wchar_t *name) {
  Text text;
  return copy_name(to_narrow(text, name));
}
const void *create_domain_a(const char *name) { return copy_name(name); }
const void *create_domain_w(const wchar_t *name) {
  Text text;
  return copy_name(to_narrow(text, name));
}
void destroy_domain(const void * /*domain*/) {}

struct NvtxEntry {
  unsigned place;
  void *function;
};
template <class Function> NvtxEntry entry(unsigned place, Function *function) noexcept {
  return {place, reinterpret_cast<void *>(function)};
}

template <std::size_t count>
bool fill(const Callbacks &callbacks, int module, const std::array<NvtxEntry, count> &entries) noexcept {
  void ***table = nullptr;
  unsigned size = 0;
  if (callbacks.table_of(module, &table, &size) == 0 || table == nullptr) return false;
  for (const NvtxEntry &each : entries)
    if (each.place < size && table[each.place] != nullptr) *table[each.place] = each.function;
  return true;
}

bool fill_all(const Callbacks &callbacks) noexcept {
  const std::array of_core{
      entry(start_ex, start_range_ex), entry(start_a, start_range_a), entry(start_w, start_range_w),
      entry(end_range, end_of_range),  entry(push_ex, push_range_ex), entry(push_a, push_range_a),
      entry(push_w, push_range_w),     entry(pop, pop_range),
  };
  const std::array of_domains{
      entry(domain_start, start_in_domain), entry(domain_end, end_in_domain),
      entry(domain_push, push_in_domain),   entry(domain_pop, pop_in_domain),
      entry(register_a, register_string_a), entry(register_w, register_string_w),
      entry(create_a, create_domain_a),     entry(create_w, create_domain_w),
      entry(destroy, destroy_domain),
  };
  return fill(callbacks, core, of_core) && fill(callbacks, domains, of_domains);
}

} // namespace

} // namespace haloscope::watch

// Returns 0 if ranges are not wanted: the program's calls do nothing then. Each part of a program that
// includes the headers by itself may come with tables of its own.
extern "C" __attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*export_table)(std::uint32_t)) {
  using namespace haloscope::watch;
  if (!is_wanted(Interface::nvtx) || export_table == nullptr) return 0;
  const auto *callbacks = static_cast<const Callbacks *>(export_table(callbacks_table));
  if (callbacks == nullptr || callbacks->size < sizeof(Callbacks) || !fill_all(*callbacks)) return 0;
  note_use(Interface::nvtx);
  return 1;
}
