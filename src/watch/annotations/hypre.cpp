// hypre: an exchange of a matrix with its neighbours is a communication region MatVecComm. It lasts from the
// creation of its handle to the end of the wait, so it includes what the exchange overlaps. If the exchange
// belongs to a level of BoomerAMG, a region named after the level is inside it. Setups and solves of
// BoomerAMG are regions.
//
// A program that links hypre statically calls past the recorder. So does a hypre that was built with
// persistent communication. hypre's int may have 64 bits: registers hold both sizes.
#include "watch/annotations/annotating.hpp"
#include "watch/annotations/following.hpp"
#include "watch/annotations/levels.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace haloscope::watch {

using Any = void *;
using Int = std::intptr_t;

namespace {

enum Which : std::uint64_t { exchange = std::uint64_t{1} << 55U, level_of_exchange };

Levels levels;

bool is_enabled() noexcept {
  static const bool is = is_wanted(Interface::hypre);
  return is;
}

// Handles of this thread that are not done. They may overlap, and end in any order: then they are one
// exchange.
__thread unsigned exchanges __attribute__((tls_model("initial-exec"))) = 0;
__thread bool is_making __attribute__((tls_model("initial-exec"))) = false; // one function calls the other

void begin_exchange(const void *package) noexcept {
  // One that was never waited for has ended with the region around it.
  if (exchanges > 0 && is_open(kind_of(Interface::hypre, exchange))) {
    exchanges++;
    return;
  }
  exchanges = 1;
  note_use(Interface::hypre);
  begin_annotation(kind_of(Interface::hypre, exchange), "MatVecComm", true);
  const int level = levels.of(package);
  if (level < 0) return;
  std::array<char, 20> name{};
  std::snprintf(name.data(), name.size(), "level %d", level);
  begin_annotation(kind_of(Interface::hypre, level_of_exchange), name.data(), true);
}

void end_exchange() noexcept {
  if (exchanges == 0) return;
  exchanges--;
  if (exchanges > 0) return;
  end_annotation(kind_of(Interface::hypre, level_of_exchange));
  end_annotation(kind_of(Interface::hypre, exchange));
}

template <class Function, class... Arguments>
Any make_handle(Function &next, const void *caller, const void *package, Arguments... arguments) noexcept {
  if (is_making || !is_enabled()) return next(caller, arguments...);
  is_making = true;
  begin_exchange(package);
  const Any handle = next(caller, arguments...);
  is_making = false;
  if (handle == nullptr) end_exchange();
  return handle;
}

} // namespace

} // namespace haloscope::watch

using namespace haloscope::watch;

extern "C" {
#define HALOSCOPE_EXPORT __attribute__((visibility("default")))

HALOSCOPE_EXPORT Any hypre_ParCSRCommHandleCreate(Int job, Any package, Any send, Any receive) {
  static constinit Following<Any (*)(Int, Any, Any, Any)> next{"hypre_ParCSRCommHandleCreate"};
  return make_handle(next, __builtin_return_address(0), package, job, package, send, receive);
}
HALOSCOPE_EXPORT Any hypre_ParCSRCommHandleCreate_v2(Int job, Any package, Int from, Any send, Int to,
                                                     Any receive) {
  static constinit Following<Any (*)(Int, Any, Int, Any, Int, Any)> next{"hypre_ParCSRCommHandleCreate_v2"};
  return make_handle(next, __builtin_return_address(0), package, job, package, from, send, to, receive);
}
HALOSCOPE_EXPORT Int hypre_ParCSRCommHandleDestroy(Any handle) {
  static constinit Following<Int (*)(Any)> next{"hypre_ParCSRCommHandleDestroy"};
  const Int result = next(__builtin_return_address(0), handle);
  if (handle != nullptr && is_enabled()) end_exchange();
  return result;
}

HALOSCOPE_EXPORT Int hypre_BoomerAMGSetup(Any solver, Any matrix, Any right, Any unknowns) {
  static constinit Following<Int (*)(Any, Any, Any, Any)> next{"hypre_BoomerAMGSetup"};
  const Annotation region{Interface::hypre, "BoomerAMGSetup"};
  if (is_enabled()) levels.begin_setup(solver, matrix);
  const Int result = next(__builtin_return_address(0), solver, matrix, right, unknowns);
  if (is_enabled()) levels.end_setup(solver);
  return result;
}
HALOSCOPE_EXPORT Int hypre_BoomerAMGSolve(Any solver, Any matrix, Any right, Any unknowns) {
  static constinit Following<Int (*)(Any, Any, Any, Any)> next{"hypre_BoomerAMGSolve"};
  const Annotation region{Interface::hypre, "BoomerAMGSolve"};
  return next(__builtin_return_address(0), solver, matrix, right, unknowns);
}
HALOSCOPE_EXPORT Int hypre_BoomerAMGDestroy(Any solver) {
  static constinit Following<Int (*)(Any)> next{"hypre_BoomerAMGDestroy"};
  if (is_enabled()) levels.forget(solver);
  return next(__builtin_return_address(0), solver);
}
// Another package may come to lie in its place.
HALOSCOPE_EXPORT Int hypre_MatvecCommPkgDestroy(Any package) {
  static constinit Following<Int (*)(Any)> next{"hypre_MatvecCommPkgDestroy"};
  if (is_enabled()) levels.forget_package();
  return next(__builtin_return_address(0), package);
}
}
