#include "interpose/library.hpp"

#include "interpose/report.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>

namespace haloscope::interpose {

RealFunctions real;
RealFunctions next;
std::atomic<bool> is_resolved{false};

#if defined(HALOSCOPE_ABI_OPENMPI)
Predefined predefined;
const void *finished_request = nullptr;
#endif

namespace {

template <class Members, std::size_t count>
void look_up(void *library, Members &members, const char *const (&names)[count]) noexcept {
  static_assert(sizeof members == count * sizeof(void *));
  auto *places = reinterpret_cast<void **>(&members);
  for (std::size_t i = 0; i < count; i++)
    if (void *found = dlsym(library, names[i])) places[i] = found;
}

// A library that was opened for its user alone (RTLD_LOCAL) is found among the loaded objects only.
void *library_with(const char *symbol) noexcept {
  struct Search {
    const char *symbol;
    void *found;
  } search{symbol, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info *object, std::size_t /*size*/, void *data) {
        auto *wanted = static_cast<Search *>(data);
        if (std::strstr(object->dlpi_name, "mpi") == nullptr) return 0;
        void *handle = dlopen(object->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
        if (handle == nullptr || dlsym(handle, wanted->symbol) == nullptr) return 0;
        wanted->found = handle;
        return 1;
      },
      &search);
  return search.found;
}

// The file in which the caller is, and behind it the libraries that this file needs.
void *scope_of(const void *caller) noexcept {
  Dl_info where{};
  if (caller == nullptr || dladdr(caller, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  return dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY); // null for the program, which all see
}

bool has_own(const void *caller, const char *name) noexcept {
  void *scope = scope_of(caller);
  return scope != nullptr && dlsym(scope, name) != nullptr;
}

// Where the caller's MPI is found: among the libraries of all, else among the caller's own, else anywhere.
void *place_of_mpi(const void *caller) noexcept {
  constexpr const char *symbol = "PMPI_Init";
  if (dlsym(RTLD_DEFAULT, symbol) != nullptr) return RTLD_DEFAULT;
  void *scope = scope_of(caller);
  if (scope != nullptr && dlsym(scope, symbol) != nullptr) return scope;
  return library_with(symbol);
}

// Functions that a library with a different interface does not have: Fortran wrappers convert handles before
// they know that the result is not needed.
void *no_handle() noexcept { return nullptr; }

int is_not_initialized(int *flag) noexcept {
  *flag = 0;
  return MPI_SUCCESS;
}

[[noreturn]] void no_library() noexcept {
  complain("no MPI library is loaded although an MPI function was called; "
           "start the program with its own MPI library linked");
  std::abort();
}

void fill_gaps(RealFunctions &functions, void *function) noexcept {
  auto *places = reinterpret_cast<void **>(&functions);
  for (std::size_t i = 0; i < sizeof functions / sizeof(void *); i++)
    if (places[i] == nullptr) places[i] = function;
}

// Programs that may do without MPI refer to it weakly, and ask.
void answer_without_library() noexcept {
  next.Initialized = next.Finalized = is_not_initialized;
  fill_gaps(next, reinterpret_cast<void *>(no_library));
}

bool fits = false;

} // namespace

void resolve(const void *caller) noexcept {
  static std::mutex mutex;
  const std::lock_guard lock{mutex};
  if (is_resolved.load(std::memory_order_relaxed)) return;
  void *place = place_of_mpi(caller);
  const bool is_complete = place != nullptr || dlsym(RTLD_DEFAULT, "PMPI_Init") != nullptr;
  if (is_complete) {
#if defined(HALOSCOPE_ABI_OPENMPI)
    look_up(place, predefined, predefined_names);
    finished_request = dlsym(place, "ompi_request_empty");
#endif
    look_up(place, real, real_names);
    fits = library_fits(reinterpret_cast<void *>(real.Init));
  } else if (haloscope_definition_beyond("MPI_Init") == nullptr && !has_own(caller, "MPI_Init")) {
    answer_without_library();
    return;
  }
  RealFunctions found = real;
  // A library without PMPI_*, such as a replacement of MPI for serial programs.
  if (void *scope = is_complete ? nullptr : scope_of(caller)) look_up(scope, found, next_names);
  look_up(RTLD_NEXT, found, next_names);
  if (!fits) {
    fill_gaps(real, reinterpret_cast<void *>(no_handle));
    fill_gaps(found, reinterpret_cast<void *>(no_handle));
  }
  next = found;
  is_resolved.store(true, std::memory_order_release); // last: other threads may be waiting for it
}

extern "C" void *haloscope_definition_beyond(const char *name) noexcept {
  using Beyond = void *(const char *);
  if (void *following = dlsym(RTLD_NEXT, "haloscope_definition_beyond"))
    return reinterpret_cast<Beyond *>(following)(name);
  return dlsym(RTLD_NEXT, name);
}

void *find_next(const char *name, const void *caller) noexcept {
  if (void *found = dlsym(RTLD_NEXT, name)) return found;
  void *scope = scope_of(caller);
  return scope == nullptr ? nullptr : dlsym(scope, name);
}

void *find_object(const char *name) noexcept {
  if (void *found = dlsym(RTLD_DEFAULT, name)) return found;
  void *library = library_with(name);
  return library == nullptr ? nullptr : dlsym(library, name);
}

bool is_ours(const void *function) noexcept {
  Dl_info its{}, own{};
  return dladdr(function, &its) != 0 && dladdr(reinterpret_cast<const void *>(is_ours), &own) != 0 &&
         its.dli_fbase == own.dli_fbase;
}

void *find_namesake(const char *name) noexcept {
  struct Search {
    const char *name;
    void *found;
  } search{name, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info *object, std::size_t /*size*/, void *data) {
        auto *wanted = static_cast<Search *>(data);
        void *handle = dlopen(object->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
        void *found = handle == nullptr ? nullptr : dlsym(handle, wanted->name);
        Dl_info its{};
        // A search that begins in a file continues in those that it needs.
        if (found != nullptr && dladdr(found, &its) != 0 &&
            reinterpret_cast<std::uintptr_t>(its.dli_fbase) == object->dlpi_addr && !is_ours(found))
          wanted->found = found;
        if (handle != nullptr) dlclose(handle);
        return wanted->found == nullptr ? 0 : 1;
      },
      &search);
  return search.found;
}

bool library_fits() noexcept { return fits; }

bool library_fits(void *init) noexcept {
  Dl_info where{};
  if (init == nullptr || dladdr(init, &where) == 0 || where.dli_fname == nullptr) return true;
  [[maybe_unused]] void *library = dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  [[maybe_unused]] const bool standard = std::strstr(where.dli_fname, "mpi_abi") != nullptr;
  // In the program itself: among the libraries of all.
#if defined(HALOSCOPE_ABI_OPENMPI)
  return dlsym(library, "ompi_mpi_comm_world") != nullptr;
#elif defined(HALOSCOPE_ABI_MPICH) // whose mpi.h names this function
  return !standard && dlsym(library, "MPIR_Dup_fn") != nullptr;
#else
  return standard || std::strstr(where.dli_fname, "libmpi.so") == nullptr;
#endif
}

} // namespace haloscope::interpose
