#include "state.hpp"

#include "report.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <mutex>

namespace haloscope::watch {

RealFunctions real;
RealFunctions next;
Global global;
__thread ThreadState *this_thread __attribute__((tls_model("initial-exec"))) = nullptr;

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
    // A library that was opened for its user alone has nothing before it but us.
    RealFunctions found = real;
    if (from == RTLD_DEFAULT) look_up(RTLD_NEXT, found, next_names);
    // Last what `ensure_resolved` looks at: other threads may be waiting for it.
    next = found;
  });
}

std::uint64_t ask_datatype_size(ThreadState &state, MPI_Datatype datatype) noexcept {
  if (datatype == MPI_DATATYPE_NULL) return 0;
  MPI_Count size = 0;
  if (real.Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0) return 0;
  const std::uintptr_t value = value_of(datatype);
  state.datatype_sizes[(value ^ value >> 8U) % ThreadState::cached] = {datatype,
                                                                       static_cast<std::uint64_t>(size)};
  return static_cast<std::uint64_t>(size);
}

ThreadState *attach_thread() noexcept {
  if (global.phase.load(std::memory_order_acquire) != Phase::running) return nullptr;
  Arena &arena = global.arena;
  auto *record = arena.make<ThreadRecord>();
  Node *root = make_root(arena, "<program>");
  Node *discard = make_root(arena, "<off>");
  if (record == nullptr || root == nullptr || discard == nullptr) return nullptr;
  auto *state = new (std::nothrow) ThreadState; // lives as long as its records
  if (state == nullptr) return nullptr;
  record->root = root;
  record->newest = root->begin;
  state->position = root;
  state->arena = &arena;
  state->process = global.process;
  if (global.process->exact_times) state->stamped_size = 0;
  state->record = record;
  state->discard = discard;
  discard->counts = discard;
  root->counts = counts_outside() ? root : discard;
  state->node = root->counts;
  start_schedule(*state, root->begin);
  record->next = global.process->threads.load(std::memory_order_relaxed);
  while (!global.process->threads.compare_exchange_weak(record->next, record)) {
  }
  this_thread = state;
  return state;
}

} // namespace haloscope::watch
