// Programs look for functions of MPI by name, to learn whether there is an MPI. dlsym finds our wrappers only
// where it finds a function that they were built for.
//
// Such functions are called before any constructor, and inside of allocators and sanitizers: no memory, no
// lock, no function that others replace.
#include "interpose/library.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <iterator>

// The C library's first version for a processor, which all later ones have.
#if defined __x86_64__
#define HALOSCOPE_FIRST "GLIBC_2.2.5"
#elif defined __aarch64__
#define HALOSCOPE_FIRST "GLIBC_2.17"
#endif

#ifdef HALOSCOPE_FIRST
namespace haloscope::interpose {

namespace {

using Lookup = void *(void *, const char *) noexcept; // else the call below would be no tail call

Lookup *next_lookup() noexcept {
  static constinit std::atomic<Lookup *> known{nullptr};
  Lookup *found = known.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  found = reinterpret_cast<Lookup *>(dlvsym(RTLD_NEXT, "dlsym", HALOSCOPE_FIRST));
  known.store(found, std::memory_order_relaxed);
  return found;
}

bool may_be_of_mpi(const char *name) noexcept {
  return (name[0] | ' ') == 'm' && (name[1] | ' ') == 'p' && (name[2] | ' ') == 'i' &&
         (name[3] == '_' || (name[3] | ' ') == 'x');
}

// Extensions of ours, which programs look for, are no wrappers.
bool is_wrapper(const char *name) noexcept {
  return name[3] == '_' || std::ranges::any_of(next_names, [&](const char *wrapped) {
           return std::strcmp(name, wrapped) == 0;
         });
}

} // namespace

extern "C" [[gnu::visibility("default")]] void *dlsym(void *handle, const char *name) noexcept {
  // The next definition depends on the caller, whom the C library finds by the return address: a tail call.
  if (handle == RTLD_NEXT || !may_be_of_mpi(name)) return next_lookup()(handle, name);
  void *found = next_lookup()(handle, name);
  if (found == nullptr || !is_ours(found) || !is_wrapper(name)) return found;
  void *without_us = haloscope_definition_beyond(name);
  if (without_us == nullptr) return nullptr;
  void *init = next_lookup()(RTLD_DEFAULT, "PMPI_Init");
  return init != nullptr && library_fits(init) ? found : without_us;
}

} // namespace haloscope::interpose
#endif

// The address sanitizer refuses to start unless its library is the first of all, which a preloaded one is.
// Programs have their own definition, or options in ASAN_OPTIONS, before this one.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): its name
extern "C" [[gnu::visibility("default")]] const char *__asan_default_options() noexcept {
  return "verify_asan_link_order=0";
}
