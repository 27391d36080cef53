// The log of PETSc 3.20 and newer, as far as tools see it: handlers that are added. With LIBRARY it is the
// library.
typedef int (*Callback)(int, int, void *, void *, void *, void *);

int PetscLogEventRegister(const char *name, int of_class, int *event);
int PetscLogStageRegister(const char *name, int *stage);
int PetscLogStagePush(int stage);
int PetscLogStagePop(void);
int PetscLogLegacyCallbacksBegin(Callback begin, Callback end, void *created, void *destroyed);
int PetscLogEventBegin(int event);
int PetscLogEventEnd(int event);
int PetscInitialize(void);
int PetscFinalize(void);

#ifdef LIBRARY

static int events, stages, depth, handlers;
static Callback begins[4], ends[4];

int PetscLogEventRegister(const char *name, int of_class, int *event) {
  *event = events++;
  return name == 0 && of_class == 0;
}
int PetscLogStageRegister(const char *name, int *stage) {
  *stage = stages++;
  return name == 0;
}
int PetscLogStagePush(int stage) {
  depth++;
  return stage >= stages;
}
int PetscLogStagePop(void) {
  depth--;
  return 0;
}
int PetscLogLegacyCallbacksBegin(Callback begin, Callback end, void *created, void *destroyed) {
  if (depth == 0 || created != 0 || destroyed != 0) return 1;
  begins[handlers] = begin;
  ends[handlers++] = end;
  return 0;
}
int PetscLogEventBegin(int event) {
  for (int i = 0; i < handlers; i++)
    if (begins[i](event, 0, 0, 0, 0, 0) != 0) return 1;
  return 0;
}
int PetscLogEventEnd(int event) {
  for (int i = 0; i < handlers; i++)
    if (ends[i](event, 0, 0, 0, 0, 0) != 0) return 1;
  return 0;
}
int PetscInitialize(void) {
  int main_stage;
  PetscLogStageRegister("Main Stage", &main_stage);
  return PetscLogStagePush(main_stage);
}
int PetscFinalize(void) {
  while (depth > 0) PetscLogStagePop();
  events = stages = handlers = 0;
  return 0;
}

#else

#include "common.h"

static void traffic(void) {
  MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// PETSc can be initialised again, and counts from 0 then.
static void run(const char *name) {
  int stage, first, second;
  CHECK(PetscInitialize() == 0);
  PetscLogEventRegister("  SFReduceBegin ", 0, &first);
  PetscLogEventRegister(name, 0, &second);
  PetscLogStageRegister("my stage", &stage);
  PetscLogStagePush(stage);
  for (int i = 0; i < 3; i++) {
    PetscLogEventBegin(second);
    PetscLogEventBegin(first);
    traffic();
    PetscLogEventEnd(first);
    PetscLogEventEnd(second);
  }
  PetscLogEventBegin(second); // an error: what has no end ends with its stage
  traffic();
  PetscLogStagePop();
  PetscLogStagePush(0);
  traffic();
  PetscLogStagePop();
  traffic();
  CHECK(PetscFinalize() == 0);
}

int main(int argc, char **argv) {
  start(&argc, &argv);
  run("my event");
  run("another event");
  MPI_Finalize();
  return 0;
}

#endif
