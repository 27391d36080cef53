// A solve with PETSc, in a stage of the program, with an event of the program's. With -log_view PETSc counts
// the same.
#include <petscksp.h>

static PetscErrorCode assemble(Mat matrix) {
  PetscInt low, high, rows;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(matrix, &low, &high));
  PetscCall(MatGetSize(matrix, &rows, NULL));
  for (PetscInt i = low; i < high; i++) {
    PetscCall(MatSetValue(matrix, i, i, 2, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(matrix, i, i - 1, -1, INSERT_VALUES));
    if (i + 1 < rows) PetscCall(MatSetValue(matrix, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve(Mat matrix) {
  Vec right, unknowns;
  KSP solver;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(matrix, &unknowns, &right));
  PetscCall(VecSet(right, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetOperators(solver, matrix, matrix));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(KSPSolve(solver, right, unknowns));
  PetscCall(KSPDestroy(&solver));
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&unknowns));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  PetscLogStage stage;
  PetscLogEvent event;
  Mat matrix;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogStageRegister("my stage", &stage));
  PetscCall(PetscLogEventRegister("my event", KSP_CLASSID, &event));
  PetscCall(
      MatCreateAIJ(PETSC_COMM_WORLD, 50, 50, PETSC_DETERMINE, PETSC_DETERMINE, 3, NULL, 1, NULL, &matrix));
  PetscCall(assemble(matrix));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscLogStagePush(stage));
    PetscCall(PetscLogEventBegin(event, 0, 0, 0, 0));
    PetscCall(solve(matrix));
    PetscCall(PetscLogEventEnd(event, 0, 0, 0, 0));
    PetscCall(PetscLogStagePop());
  }
  PetscCall(MatDestroy(&matrix));
  PetscCall(PetscFinalize());
  return 0;
}
