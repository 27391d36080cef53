// What the headers of NVTX do in a program: they open the tool that a variable names and have it fill their
// tables.
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <wchar.h>

typedef void (*Function)(void);
enum { core_entries = 16, domain_entries = 16 }; // numbers of the interface: the first of each is none
static Function core[core_entries], domains[domain_entries];
static Function *core_table[core_entries + 1], *domain_table[domain_entries + 1];

static int table_of(int module, Function ***table, unsigned *entries) {
  *table = module == 1 ? core_table : module == 5 ? domain_table : NULL;
  *entries = *table == NULL ? 0 : core_entries;
  return *table != NULL;
}
static const struct {
  size_t size;
  int (*table_of)(int, Function ***, unsigned *);
} callbacks = {sizeof callbacks, table_of};
static const void *export_table(uint32_t number) { return number == 1 ? &callbacks : NULL; }

typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  uint64_t payload;
  int32_t message_type;
  const void *message;
} Attributes;

static void traffic(void) {
  MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#define RANGE_PUSH_A(name) ((int (*)(const char *))core[9])(name)
#define RANGE_PUSH_W(name) ((int (*)(const wchar_t *))core[10])(name)
#define RANGE_PUSH_EX(attributes) ((int (*)(const Attributes *))core[8])(attributes)
#define RANGE_POP() ((int (*)(void))core[11])()
#define RANGE_START_A(name) ((uint64_t (*)(const char *))core[5])(name)
#define RANGE_END(range) ((void (*)(uint64_t))core[7])(range)

static void pushed(void) {
  for (int i = 0; i < 3; i++) {
    CHECK(RANGE_PUSH_A("step") == 0);
    traffic();
    CHECK(RANGE_PUSH_W(L"wide") == 1);
    traffic();
    CHECK(RANGE_POP() == 1);
    CHECK(RANGE_POP() == 0);
  }
}

static void in_domains(void) {
  void *domain = ((void *(*)(const char *))domains[12])("solver");
  void *text = ((void *(*)(void *, const char *))domains[10])(domain, "registered");
  CHECK(domain != NULL && text != NULL);
  Attributes attributes = {.version = 3, .size = sizeof attributes, .message_type = 3, .message = text};
  // The ends of two domains may come in any order.
  ((int (*)(void *, const Attributes *))domains[4])(domain, &attributes);
  traffic();
  ((int (*)(void *))domains[5])(domain);
  attributes.message_type = 1;
  attributes.message = "attributes";
  RANGE_PUSH_EX(&attributes);
  traffic();
  RANGE_POP();
  attributes.size = 8; // of a version that we do not know
  RANGE_PUSH_EX(&attributes);
  traffic();
  RANGE_POP();
}

static void overlapping(void) {
  const uint64_t first = RANGE_START_A("first");
  traffic();
  const uint64_t second = RANGE_START_A("second");
  RANGE_END(first);
  traffic();
  RANGE_END(second);
  traffic();
  RANGE_END(second); // again, and one that never was
  RANGE_END(12345);
}

// A thread that does not call MPI, in a program that says that it won't.
static void *work(void *ignored) {
  for (int i = 0; i < 100; i++) {
    RANGE_PUSH_A("work");
    RANGE_POP();
  }
  return ignored;
}

int main(int argc, char **argv) {
  for (int i = 1; i < core_entries; i++) core_table[i] = &core[i];
  for (int i = 1; i < domain_entries; i++) domain_table[i] = &domains[i];
  void *tool = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
  if (tool == NULL) return 4;
  int (*initialize)(const void *(*)(uint32_t)) =
      (int (*)(const void *(*)(uint32_t)))dlsym(tool, "InitializeInjectionNvtx2");
  if (initialize == NULL || !initialize(export_table)) return argc > 1 ? 0 : 5; // switched off
  if (core[1] != NULL || core[9] == NULL || domains[1] != NULL) return 6;       // marks are none of ours
  start(&argc, &argv);
  pushed();
  in_domains();
  overlapping();
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  RANGE_POP(); // one too many
  MPI_Finalize();
  RANGE_PUSH_A("past MPI_Finalize");
  RANGE_POP();
  return 0;
}
