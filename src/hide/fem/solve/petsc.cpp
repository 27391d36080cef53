#include "hide/fem/solve/petsc.hpp"

namespace haloscope::fem {

namespace {

// The first error's words; PETSc calls the handler again in every function on the way up.
std::string &first_error() {
  static std::string text;
  return text;
}

PetscErrorCode remember(MPI_Comm, int, const char *, const char *, PetscErrorCode code, PetscErrorType type,
                        const char *message, void *) {
  if (type == PETSC_ERROR_INITIAL) first_error() = message ? message : "";
  return code;
}

} // namespace

PetscSession::PetscSession() {
  if (PetscInitializeNoArguments()) throw Error("PETSc cannot be initialised");
  check(PetscPopSignalHandler(), "signal handlers"); // crashes stay the program's own
  check(PetscPushErrorHandler(remember, nullptr), "error handler");
}

PetscSession::~PetscSession() { static_cast<void>(PetscFinalize()); }

void check(PetscErrorCode code, const char *what) {
  if (!code) return;
  const char *text = nullptr;
  static_cast<void>(PetscErrorMessage(code, &text, nullptr));
  std::string message = std::string(what) + ": " + std::exchange(first_error(), {});
  if (message.ends_with(": ")) message += text ? text : "error of PETSc";
  throw Error(message);
}

} // namespace haloscope::fem
