#include "watch/stacks/sites.hpp"

#include "watch/records/recorder.hpp"
#include "watch/stacks/modules.hpp"
#include "watch/stacks/python_frames.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <unwind.h>
#include <vector>

namespace haloscope::watch {

using Address = std::uintptr_t;

struct SiteBook {
  // A return address, and where it lies, counted from the caller's frame.
  struct Slot {
    std::uint32_t distance;
    Address value;
  };
  // The stack of an earlier call from this caller.
  struct Remembered {
    const void *caller;
    const Stack *stack;
    std::vector<Slot> slots;
  };
  struct Recent {
    const Stack *stack = nullptr;
    const Node *node = nullptr;
    Site *site = nullptr;
  };

  explicit SiteBook(unsigned frames) : depth(frames) {}

  unsigned depth;
  Modules modules;
  PythonFrames python;
  std::uint32_t unloadings = 0; // that are known here
  // By the innermost return address and where it lies: calls that differ further up are in one place.
  std::array<std::vector<Remembered>, 1024> remembered;
  std::array<Recent, 1024> recent;
  std::unordered_multimap<std::uint64_t, const Stack *> stacks;
};

namespace {

using Slot = SiteBook::Slot;
using Remembered = SiteBook::Remembered;

constexpr unsigned most_frames = 256; // that are looked at
constexpr unsigned most_alike = 32;   // stacks that are alike where they are innermost

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) noexcept { return hash_of(hash ^ hash_of(with)); }

struct Walk {
  Address from; // frames below are those of the recorder
  std::vector<Slot> slots;
  std::vector<Address> addresses;
  std::size_t checkable = 0; // so many of the first return addresses lie where they are expected
};

_Unwind_Reason_Code visit(_Unwind_Context *context, void *data) {
  Walk &walk = *static_cast<Walk *>(data);
  const Address address = _Unwind_GetIP(context);
  const Address end = _Unwind_GetCFA(context);
  if (address == 0 || walk.addresses.size() == most_frames) return _URC_END_OF_STACK;
  if (end < walk.from) return _URC_NO_REASON;
  const Address distance = end - walk.from;
#if defined(__x86_64__)
  const Address *slot = reinterpret_cast<const Address *>(end) - 1; // NOLINT(performance-no-int-to-ptr)
  if (walk.checkable == walk.slots.size() && distance <= ~std::uint32_t{0} && *slot == address)
    walk.checkable++;
#endif
  walk.slots.push_back({static_cast<std::uint32_t>(distance), address});
  walk.addresses.push_back(address);
  return _URC_NO_REASON;
}

// The frames of a stack that are kept: the first ones, and the first of the program itself.
struct Kept {
  std::vector<Frame> frames;
  bool interpreted = false;
  std::size_t seen = 0; // how many addresses had to be looked at
};

Kept keep_frames(SiteBook &book, const std::vector<Address> &addresses, Arena &arena) {
  Kept kept;
  bool has_program = false;
  for (const Address address : addresses) {
    kept.seen++;
    if (Modules::is_own(address)) continue;
    if (book.python.is_interpreter(address)) {
      kept.interpreted = true;
      break;
    }
    const Module *module = book.modules.find(address, arena);
    const bool is_program = module != nullptr && module->is_program;
    if (kept.frames.size() < book.depth || (is_program && !has_program))
      kept.frames.push_back({module, module == nullptr ? address : address - module->base});
    has_program |= is_program;
    if (kept.frames.size() >= book.depth && has_program) break;
  }
  return kept;
}

bool is_same(const Stack &stack, const std::vector<Frame> &frames, const std::string &python) {
  return stack.count == frames.size() && (stack.interpreter == nullptr ? "" : stack.interpreter) == python &&
         std::equal(frames.begin(), frames.end(), stack.frames, [](const Frame &a, const Frame &b) {
           return a.module == b.module && a.offset == b.offset;
         });
}

const Stack *intern(SiteBook &book, const std::vector<Frame> &frames, const std::string &python,
                    bool interpreted, Arena &arena) {
  std::uint64_t hash = std::hash<std::string>{}(python);
  for (const Frame &frame : frames) hash = mixed(mixed(hash, frame.offset), Address(frame.module));
  const auto [first, last] = book.stacks.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (is_same(*known->second, frames, python)) return known->second;
  if (!arena.allows_details()) return nullptr;
  auto *stack = arena.make<Stack>();
  auto *copy = arena.make<Frame>(frames.size() + 1);
  auto *text = python.empty() ? nullptr : static_cast<char *>(arena.allocate(python.size() + 1));
  if (stack == nullptr || copy == nullptr || (text == nullptr && !python.empty())) return nullptr;
  std::ranges::copy(frames, copy);
  if (text != nullptr) std::ranges::copy(python, text);
  *stack = {static_cast<std::uint32_t>(frames.size()), interpreted, text, copy};
  book.stacks.emplace(hash, stack);
  return stack;
}

// A library may have been unloaded, and a different one may be at its addresses now.
[[gnu::noinline, gnu::cold]] void forget_unloaded(SiteBook &book) noexcept {
  book.unloadings = Modules::unloadings();
  if (!book.modules.have_changed()) return;
  for (std::vector<Remembered> &others : book.remembered) others.clear();
}

[[gnu::noinline, gnu::cold]] const Stack *unwind(SiteBook &book, std::vector<Remembered> &place,
                                                 const void *caller, Arena &arena) {
  forget_unloaded(book);
  Walk walk{Address(caller), {}, {}, 0};
#if !defined(__x86_64__)
  walk.from = 0;
#endif
  _Unwind_Backtrace(visit, &walk);
  const Kept kept = keep_frames(book, walk.addresses, arena);
  const Stack *stack = intern(book, kept.frames, {}, kept.interpreted, arena);
  if (stack == nullptr || walk.checkable < kept.seen) return stack;
  walk.slots.resize(kept.seen);
  if (place.size() == most_alike) place.erase(place.begin()); // the oldest
  place.push_back({caller, stack, std::move(walk.slots)});
  return stack;
}

// Return addresses that lie where they lay are of the same calls.
[[gnu::no_sanitize("address", "thread")]] inline bool is_remembered(const Remembered &memory,
                                                                    const void *caller) noexcept {
  if (memory.caller != caller) return false;
  const auto *frame = static_cast<const char *>(caller);
  bool same = true;
  for (const Slot &slot : memory.slots)
    same &= *reinterpret_cast<const Address *>(frame + slot.distance - sizeof(Address)) == slot.value;
  return same;
}

const Stack *find_stack(SiteBook &book, const void *caller, Arena &arena) {
  if (__builtin_expect(book.unloadings != Modules::unloadings(), 0)) forget_unloaded(book);
#if defined(__x86_64__)
  const Address address = static_cast<const Address *>(caller)[-1];
#else
  const Address address = 0;
#endif
  std::vector<Remembered> &place = book.remembered[mixed(Address(caller), address) % book.remembered.size()];
  const Stack *stack = nullptr;
  for (const Remembered &memory : place)
    if (is_remembered(memory, caller)) {
      stack = memory.stack;
      break;
    }
  if (__builtin_expect(stack == nullptr, 0)) stack = unwind(book, place, caller, arena);
  if (stack == nullptr || __builtin_expect(!stack->interpreted, 1)) return stack;
  return book.python.on(stack, book.depth, [&](const std::string &text) {
    return intern(book, {stack->frames, stack->frames + stack->count}, text, false, arena);
  });
}

[[gnu::noinline, gnu::cold]] Site *look_up_site(Recorder &to, Node &node, const Stack &stack,
                                                Function function) noexcept {
  for (Site *site = node.sites; site != nullptr; site = site->next)
    if (site->stack == &stack && site->function == function) return site;
  auto *site = to.arena->allows_details() ? to.arena->make<Site>() : nullptr;
  if (site == nullptr) {
    to.dropped();
    return nullptr;
  }
  *site = {.stack = &stack, .function = function, .sums = {}, .estimated = {}, .next = node.sites};
  std::atomic_signal_fence(std::memory_order_release);
  node.sites = site;
  return site;
}

} // namespace

SiteBook *make_site_book(unsigned depth) noexcept try {
  return new SiteBook(std::min(depth, deepest_stack)); // lives as long as its thread's records
} catch (const std::bad_alloc &) {
  return nullptr;
}

Site *find_site(Recorder &to, Function function, const void *caller) noexcept try {
  SiteBook &book = *to.sites;
  const Stack *stack = find_stack(book, caller, *to.arena);
  if (stack == nullptr) {
    to.dropped();
    return nullptr;
  }
  const std::uint64_t hash = mixed(Address(stack), Address(to.node)) + static_cast<unsigned>(function);
  SiteBook::Recent &recent = book.recent[hash % book.recent.size()];
  if (recent.stack == stack && recent.node == to.node && recent.site->function == function)
    return recent.site;
  Site *site = look_up_site(to, *to.node, *stack, function);
  if (site != nullptr) recent = {stack, to.node, site};
  return site;
} catch (const std::exception &) {
  to.dropped();
  return nullptr;
}

} // namespace haloscope::watch
