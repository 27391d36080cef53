// Calls by the places of the program that they come from (--callsites).
//
// Budget, added to a call: one clock read with one frame, 1 us with eight. A stack that was there before is
// recognised without unwinding: its return addresses still lie where they lay then.
#pragma once

#include "interpose/active_call.hpp"
#include "watch/records/doing.hpp"
#include "watch/records/records.hpp"

namespace haloscope::watch {

// A file of code in the process. Addresses within it do not depend on where it was loaded.
struct Module {
  std::uint64_t base;
  const char *path;
  std::array<char, 41> build; // its build-id in hexadecimal, or empty
  Flag is_program;            // the executable itself
};
// A return address; where no module is known, it is the address itself.
struct Frame {
  const Module *module;
  std::uint64_t offset;
};
struct Stack {
  std::uint32_t count;
  Flag interpreted;        // ends at Python's interpreter
  const char *interpreter; // frames of Python after those, as text of the file format; nullptr: none
  const Frame *frames;     // innermost first
};
struct Site {
  const Stack *stack;
  Function function;
  CallRecord sums;
  EstimatedTicks estimated; // as in a CallPage
  Site *next;               // of the region
};

inline constexpr unsigned deepest_stack = 32;

struct Recorder;
struct SiteBook; // what a thread needs to find its sites
// nullptr if there is no memory.
SiteBook *make_site_book(unsigned depth) noexcept;
// Where the call comes from that a thread makes in its current region; nullptr if there is no memory.
// `caller`: HALOSCOPE_CALLER.
[[gnu::noinline]] Site *find_site(Recorder &to, Function function, const void *caller) noexcept;

using interpose::return_address;

} // namespace haloscope::watch
