// Regions of interfaces whose programs do not know the recorder. Names may be long, unlimited in number, or
// come from any thread. All three are bounded here.
#pragma once

#include "watch/annotations/interfaces.hpp"
#include "watch/counting/open_regions.hpp"

#include <cstdint>

namespace haloscope::watch {

// The longest name, in bytes. A longer name is cut and ends with "...".
inline constexpr unsigned longest_annotation = 128;
// The largest number of different child regions from these interfaces. Further ones get this name.
inline constexpr unsigned most_annotations = 256;
inline constexpr const char *other_annotations = "(other)";

// The key of an open region: its interface, and a number if ends name their region.
[[gnu::always_inline]] inline std::uint64_t kind_of(Interface interface, std::uint64_t which = 0) noexcept {
  return (static_cast<std::uint64_t>(interface) + 1U) << 56U | (which & ((std::uint64_t{1} << 56U) - 1U));
}
inline std::uint64_t kind_of(Interface interface, const void *which) noexcept {
  return kind_of(interface, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(which)));
}

// A thread that has not called MPI is left alone: its regions have nothing to say. So is what happens inside
// of MPI's calls.
void begin_annotation(std::uint64_t kind, const char *name, bool communication = false) noexcept;
// Ends the innermost region of that kind and all regions inside it. Does nothing if it was not recorded.
void end_annotation(std::uint64_t kind) noexcept;
// The same for a range, which may overlap others: it ends when those inside have, at the latest with the
// region around it. `kind` is its own.
void end_overlapping(std::uint64_t kind) noexcept;

// One around a call of a library's function, but for calls that the library makes inside of such a one
// itself. `name` lives as long as the program: it is what the end looks for.
class Annotation {
public:
  Annotation(Interface interface, const char *name, bool communication = false) noexcept {
    if (!is_wanted(interface)) return;
    note_use(interface);
    const std::uint64_t kind = kind_of(interface, name);
    if (is_open(kind)) return;
    kind_ = kind;
    begin_annotation(kind, name, communication);
  }
  ~Annotation() {
    if (kind_ != 0) end_annotation(kind_);
  }
  Annotation(const Annotation &) = delete;
  Annotation &operator=(const Annotation &) = delete;

private:
  std::uint64_t kind_ = 0;
};

} // namespace haloscope::watch
