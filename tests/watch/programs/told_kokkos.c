// The events of Kokkos for its tool: the library that a variable names, by functions of C.
#include "common.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  char name[64];
} Space;
typedef struct {
  bool wait, rest[255];
} Settings;

static void *tool;
static void *named(const char *name) {
  void *found = dlsym(tool, name);
  CHECK(found != NULL);
  return found;
}
#define TOLD(result, name, arguments) ((result(*) arguments)named("kokkosp_" name))

static void traffic(void) {
  MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void kernel(const char *kind, const char *name) {
  char begin[64], end[64];
  uint64_t id = 0;
  snprintf(begin, sizeof begin, "kokkosp_begin_%s", kind);
  snprintf(end, sizeof end, "kokkosp_end_%s", kind);
  ((void (*)(const char *, uint32_t, uint64_t *))named(begin))(name, 0, &id);
  CHECK(id != 0);
  traffic();
  ((void (*)(uint64_t))named(end))(id);
}

static void regions(void) {
  TOLD(void, "push_profile_region", (const char *))("assembly");
  for (int i = 0; i < 3; i++) kernel("parallel_for", "fill");
  kernel("parallel_reduce", "norm");
  kernel("parallel_scan", "offsets");
  kernel("fence", "before send");
  TOLD(void, "pop_profile_region", (void))();
}

static void copies(void) {
  const Space host = {"Host"};
  TOLD(void, "begin_deep_copy",
       (Space, const char *, const void *, Space, const char *, const void *, uint64_t))(
      host, "to", buffer, host, "from", other, 4);
  traffic();
  TOLD(void, "end_deep_copy", (void))();
}

// The first ends while the second is open: it lasts as long as that.
static void sections(void) {
  uint32_t first = 77, second = 77;
  TOLD(void, "create_profile_section", (const char *, uint32_t *))("first", &first);
  TOLD(void, "create_profile_section", (const char *, uint32_t *))("second", &second);
  CHECK(first != second);
  for (int i = 0; i < 2; i++) {
    TOLD(void, "start_profile_section", (uint32_t))(first);
    traffic();
    TOLD(void, "start_profile_section", (uint32_t))(second);
    TOLD(void, "stop_profile_section", (uint32_t))(first);
    traffic();
    TOLD(void, "stop_profile_section", (uint32_t))(second);
  }
  TOLD(void, "destroy_profile_section", (uint32_t))(first);
}

// A name of a template, and more names than anyone reads.
static void many(void) {
  char name[1000];
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = '\0';
  memcpy(name + 124, "\xc3\xa9", 2); // in the middle of this character it is not cut
  kernel("parallel_for", name);
  TOLD(void, "push_profile_region", (const char *))("many");
  for (int i = 0; i < 1000; i++) {
    snprintf(name, sizeof name, "kernel %d", i);
    kernel("parallel_for", name);
  }
  kernel("parallel_for", "kernel 0");
  TOLD(void, "pop_profile_region", (void))();
}

int main(int argc, char **argv) {
  tool = dlopen(getenv("KOKKOS_TOOLS_LIBS"), RTLD_NOW | RTLD_GLOBAL);
  if (tool == NULL) return 4;
  Settings settings = {.wait = true};
  TOLD(void, "init_library", (int, uint64_t, uint32_t, void *))(0, 20210225, 0, NULL);
  TOLD(void, "request_tool_settings", (uint32_t, Settings *))(1, &settings);
  if (settings.wait) return 5;
  TOLD(void, "push_profile_region", (const char *))("before MPI_Init");
  start(&argc, &argv);
  traffic();
  TOLD(void, "pop_profile_region", (void))();
  regions();
  copies();
  sections();
  many();
  TOLD(void, "declare_metadata", (const char *, const char *))("kokkos_space", "Serial");
  TOLD(void, "push_profile_region", (const char *))("past MPI_Finalize");
  MPI_Finalize();
  TOLD(void, "pop_profile_region", (void))();
  TOLD(void, "finalize_library", (void))();
  return 0;
}
