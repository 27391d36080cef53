#include "watch/annotations/annotating.hpp"

#include "watch/counting/marking.hpp"

#include <array>
#include <cstring>

namespace haloscope::watch {

namespace {

using Short = std::array<char, longest_annotation + 1>;

// Not in the middle of a character.
[[gnu::noinline, gnu::cold]] const char *cut(Short &to, const char *name) noexcept {
  constexpr std::size_t mark = 3;
  std::size_t bytes = longest_annotation - mark;
  while (bytes > 0 && (static_cast<unsigned char>(name[bytes]) & 0xC0U) == 0x80U) bytes--;
  std::memcpy(to.data(), name, bytes);
  std::memcpy(to.data() + bytes, "...", mark + 1);
  return to.data();
}

bool is_ignored() noexcept {
  ThreadState *state = this_thread();
  if (__builtin_expect(state == nullptr, 0))
    return global().phase.load(std::memory_order_relaxed) != Phase::before;
  return is_inside_call(*state);
}

} // namespace

void begin_annotation(std::uint64_t kind, const char *name, bool communication) noexcept {
  if (is_ignored()) return;
  if (name == nullptr || *name == '\0') name = "(unnamed)";
  Short copy;
  if (__builtin_expect(strnlen(name, longest_annotation + 1) > longest_annotation, 0)) name = cut(copy, name);
  const ThreadState *state = this_thread();
  if (state != nullptr && __builtin_expect(state->position->child_names.count >= most_annotations, 0) &&
      !has_child(*state->position, name))
    name = other_annotations;
  open_region(kind, name, communication);
}

void end_annotation(std::uint64_t kind) noexcept {
  if (!is_ignored()) close_region_if_open(kind);
}

void end_overlapping(std::uint64_t kind) noexcept {
  if (!is_ignored()) close_region_late(kind);
}

} // namespace haloscope::watch
