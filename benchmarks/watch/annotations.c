/* Cost of a begin and an end through other tools' interfaces and through our region, nanoseconds per pair. */
#include <haloscope/region.h>
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void (*Function)(void);
static Function core[16], *table[17];

static int table_of(int module, Function ***to, unsigned *entries) {
  static Function none[16], *empty[17];
  for (int i = 0; i < 16; i++) empty[i] = &none[i];
  *to = module == 1 ? table : empty;
  *entries = 16;
  return 1;
}
static const struct {
  size_t size;
  int (*table_of)(int, Function ***, unsigned *);
} callbacks = {sizeof callbacks, table_of};
static const void *export_table(uint32_t number) { return number == 1 ? &callbacks : NULL; }

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return 1e9 * (double)at.tv_sec + (double)at.tv_nsec;
}

#define MEASURE(name, pair)                                                                                  \
  do {                                                                                                       \
    const double before = now();                                                                             \
    for (int i = 0; i < pairs; i++) {                                                                        \
      pair;                                                                                                  \
    }                                                                                                        \
    printf("%s %.3f\n", name, (now() - before) / pairs);                                                     \
  } while (0)

int main(int argc, char **argv) {
  const int pairs = argc > 1 ? atoi(argv[1]) : 100000;
  MPI_Init(&argc, &argv);
  void *tool = dlopen(getenv("KOKKOS_TOOLS_LIBS"), RTLD_NOW | RTLD_GLOBAL);
  if (tool == NULL) return 4;
  void (*push)(const char *) = (void (*)(const char *))dlsym(tool, "kokkosp_push_profile_region");
  void (*pop)(void) = (void (*)(void))dlsym(tool, "kokkosp_pop_profile_region");
  void (*begin)(const char *, uint32_t, uint64_t *) =
      (void (*)(const char *, uint32_t, uint64_t *))dlsym(tool, "kokkosp_begin_parallel_for");
  void (*end)(uint64_t) = (void (*)(uint64_t))dlsym(tool, "kokkosp_end_parallel_for");
  int (*initialize)(const void *(*)(uint32_t)) =
      (int (*)(const void *(*)(uint32_t)))dlsym(tool, "InitializeInjectionNvtx2");
  for (int i = 1; i < 16; i++) table[i] = &core[i];
  if (push == NULL || pop == NULL || begin == NULL || end == NULL || initialize == NULL) return 5;
  if (!initialize(export_table)) return 6;
  uint64_t id = 0;
  MEASURE("warm-up", (push("region"), pop()));
  MEASURE("region", HALOSCOPE_REGION_BEGIN("region"); HALOSCOPE_REGION_END("region"));
  MEASURE("region of Kokkos", (push("region"), pop()));
  MEASURE("kernel of Kokkos", (begin("kernel of some length", 0, &id), end(id)));
  MEASURE("range of NVTX", (((int (*)(const char *))core[9])("range"), ((int (*)(void))core[11])()));
  MPI_Finalize();
  return 0;
}
