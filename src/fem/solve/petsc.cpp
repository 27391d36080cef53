#include "fem/solve/petsc.hpp"

namespace haloscope::fem {

namespace {

// Keeps the text of the first error; PETSc calls the handler again in every function on the way up.
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

namespace {

Shell::Context &context_of(Mat mat) {
  void *context = nullptr;
  check(MatShellGetContext(mat, static_cast<void *>(&context)), "shell matrix");
  return *static_cast<Shell::Context *>(context);
}

void on_arrays(const std::function<void(const double *, double *)> &apply, Vec x, Vec y) {
  const double *in = nullptr;
  double *out = nullptr;
  check(VecGetArrayRead(x, &in), "input vector");
  check(VecGetArrayWrite(y, &out), "output vector");
  apply(in, out);
  check(VecRestoreArrayWrite(y, &out), "output vector");
  check(VecRestoreArrayRead(x, &in), "input vector");
}

PetscErrorCode multiply(Mat mat, Vec x, Vec y) {
  return guarded([&] {
    Shell::Context &context = context_of(mat);
    ++context.applications;
    on_arrays(context.map.apply, x, y);
  });
}

PetscErrorCode multiply_transpose(Mat mat, Vec x, Vec y) {
  return guarded([&] { on_arrays(context_of(mat).map.transpose, x, y); });
}

PetscErrorCode get_diagonal(Mat mat, Vec d) {
  return guarded([&] {
    double *values = nullptr;
    check(VecGetArrayWrite(d, &values), "diagonal");
    context_of(mat).diagonal(values);
    check(VecRestoreArrayWrite(d, &values), "diagonal");
  });
}

} // namespace

Shell::Shell(const Linear &matrix, int phase) : context_(std::make_unique<Context>()) {
  context_->map = {matrix.comm,
                   matrix.rows,
                   matrix.rows,
                   [apply = matrix.apply, phase](const double *x, double *y) { apply(x, y, phase); },
                   {}};
  context_->diagonal = matrix.diagonal;
  create();
  check(MatSetOption(mat(), MAT_SYMMETRIC, PETSC_TRUE), "shell matrix");
}

Shell::Shell(Map map) : context_(std::make_unique<Context>()) {
  context_->map = std::move(map);
  create();
}

void Shell::create() {
  const auto rows = static_cast<PetscInt>(context_->map.rows);
  const auto columns = static_cast<PetscInt>(context_->map.columns);
  check(MatCreateShell(context_->map.comm, rows, columns, PETSC_DETERMINE, PETSC_DETERMINE, context_.get(),
                       mat_.put()),
        "shell matrix");
  const auto set = [this](MatOperation operation, auto function) {
    check(MatShellSetOperation(mat(), operation, reinterpret_cast<void (*)()>(function)), "shell matrix");
  };
  set(MATOP_MULT, multiply);
  if (context_->map.transpose) set(MATOP_MULT_TRANSPOSE, multiply_transpose);
  if (context_->diagonal) set(MATOP_GET_DIAGONAL, get_diagonal);
}

OwnedMat assembled(MPI_Comm comm, std::size_t rows, std::span<const Triplet> entries) {
  std::vector<PetscInt> row(entries.size()), column(entries.size());
  std::vector<double> value(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    row[i] = static_cast<PetscInt>(entries[i].row);
    column[i] = static_cast<PetscInt>(entries[i].column);
    value[i] = entries[i].value;
  }
  OwnedMat mat;
  check(MatCreate(comm, mat.put()), "assembled matrix");
  const auto n = static_cast<PetscInt>(rows);
  check(MatSetSizes(mat.get(), n, n, PETSC_DETERMINE, PETSC_DETERMINE), "assembled matrix");
  check(MatSetType(mat.get(), MATAIJ), "assembled matrix");
  check(MatSetPreallocationCOO(mat.get(), static_cast<PetscCount>(entries.size()), row.data(), column.data()),
        "assembled matrix");
  check(MatSetValuesCOO(mat.get(), value.data(), ADD_VALUES), "assembled matrix");
  check(MatSetOption(mat.get(), MAT_SPD, PETSC_TRUE), "assembled matrix");
  return mat;
}

} // namespace haloscope::fem
