#include "interpose/library.hpp"

#include "interpose/report.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>

namespace haloscope::interpose {

RealFunctions real;
RealFunctions next;

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

// Functions that a library with a different interface does not have: Fortran wrappers convert handles before
// they know that the result is not needed.
void *no_handle() noexcept { return nullptr; }

void fill_gaps() noexcept {
  auto *places = reinterpret_cast<void **>(&real);
  for (std::size_t i = 0; i < sizeof real / sizeof(void *); i++)
    if (places[i] == nullptr) places[i] = reinterpret_cast<void *>(no_handle);
}

} // namespace

void resolve() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    void *from = dlsym(RTLD_DEFAULT, "PMPI_Init") != nullptr ? RTLD_DEFAULT : library_with("PMPI_Init");
#if defined(HALOSCOPE_ABI_OPENMPI)
    look_up(from, predefined, predefined_names);
    finished_request = dlsym(from, "ompi_request_empty");
#endif
    look_up(from, real, real_names);
    if (real.Init == nullptr) {
      complain("no MPI library is loaded although an MPI function was called; "
               "start the program with its own MPI library linked");
      std::abort();
    }
    if (!library_fits()) fill_gaps();
    // A library that was opened for its user alone has nothing before it but us.
    RealFunctions found = real;
    if (from == RTLD_DEFAULT) look_up(RTLD_NEXT, found, next_names);
    // Last what `ensure_resolved` looks at: other threads may be waiting for it.
    next = found;
  });
}

bool library_fits() noexcept { return library_fits(reinterpret_cast<void *>(real.Init)); }

bool library_fits(void *init) noexcept {
  Dl_info where{};
  if (init == nullptr || dladdr(init, &where) == 0 || where.dli_fname == nullptr) return true;
  [[maybe_unused]] void *library = dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  [[maybe_unused]] const bool standard = std::strstr(where.dli_fname, "mpi_abi") != nullptr;
#if defined(HALOSCOPE_ABI_OPENMPI)
  return library == nullptr || dlsym(library, "ompi_mpi_comm_world") != nullptr;
#elif defined(HALOSCOPE_ABI_MPICH)
  return !standard && (library == nullptr || dlsym(library, "ompi_mpi_comm_world") == nullptr);
#else
  return standard || std::strstr(where.dli_fname, "libmpi.so") == nullptr;
#endif
}

} // namespace haloscope::interpose
