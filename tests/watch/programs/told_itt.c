// What the part of ITT does that programs link: it opens the tool that a variable names and has it fill its
// list.
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>

typedef struct {
  unsigned long long words[3];
} Id;
typedef struct {
  volatile int flags;
  const char *name;
} Domain;
typedef struct {
  const char *text;
} String;

static void (*task_begin)(const Domain *, Id, Id, String *);
static void (*task_end)(const Domain *);
static void (*task_begin_overlapped)(const Domain *, Id, Id, String *);
static void (*task_end_overlapped)(const Domain *, Id);
static void (*frame_begin)(const Domain *, Id *);
static void (*frame_end)(const Domain *, Id *);
static int (*event_create)(const char *, int);
static int (*event_start)(int);
static int (*event_end)(int);
static void (*other_function)(void), (*made_here)(void);
static void static_one(void) {}

typedef struct {
  const char *name;
  void **called, *first, *without;
  int group;
} Function;
#define ENTRY(name, pointer, without)                                                                        \
  {name, (void **)(void *)&pointer, (void *)static_one, (void *)without, 1}
static Function list[] = {
    ENTRY("__itt_task_begin", task_begin, NULL),
    ENTRY("__itt_task_end", task_end, NULL),
    ENTRY("__itt_task_begin_overlapped", task_begin_overlapped, NULL),
    ENTRY("__itt_task_end_overlapped", task_end_overlapped, NULL),
    ENTRY("__itt_frame_begin_v3", frame_begin, NULL),
    ENTRY("__itt_frame_end_v3", frame_end, NULL),
    ENTRY("__itt_event_create", event_create, NULL),
    ENTRY("__itt_event_start", event_start, NULL),
    ENTRY("__itt_event_end", event_end, NULL),
    ENTRY("__itt_sync_prepare", other_function, NULL),
    ENTRY("__itt_domain_create", made_here, static_one),
    {NULL, NULL, NULL, NULL, 0},
};
static struct {
  unsigned char magic[8];
  unsigned long version[3];
  volatile long initialized[3];
  pthread_mutex_t mutex;
  void *library, *error_handler;
  const char **path;
  Function *functions;
} part = {{0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
          {3, 0, 0},
          {0},
          PTHREAD_MUTEX_INITIALIZER,
          0,
          0,
          0,
          list};

static void traffic(void) {
  MPI_Sendrecv(buffer, 1, MPI_INT, rank, 0, other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  static Domain domain = {1, "solver"};
  static String exchange = {"exchange"}, first = {"first"}, second = {"second"};
  const Id none = {{0}}, one = {{1, 2, 3}}, two = {{4, 5, 6}};
  other_function = made_here = static_one;
  void *tool = dlopen(getenv("INTEL_LIBITTNOTIFY64"), RTLD_LAZY);
  if (tool == NULL) return 4;
  void (*initialize)(void *, int) = (void (*)(void *, int))dlsym(tool, "__itt_api_init");
  if (initialize == NULL) return 5;
  initialize(&part, -1);
  if (task_begin == NULL || other_function != NULL || made_here != static_one) return 6;
  start(&argc, &argv);
  for (int i = 0; i < 3; i++) {
    frame_begin(&domain, NULL);
    task_begin(&domain, none, none, &exchange);
    traffic();
    task_end(&domain);
    frame_end(&domain, NULL);
  }
  task_begin_overlapped(&domain, one, none, &first);
  traffic();
  task_begin_overlapped(&domain, two, none, &second);
  task_end_overlapped(&domain, one);
  traffic();
  task_end_overlapped(&domain, two);
  const int event = event_create("event and more", 5);
  event_start(event);
  traffic();
  event_end(event);
  domain.flags = 0; // switched off by the program
  task_begin(&domain, none, none, &first);
  traffic();
  task_end(&domain);
  MPI_Finalize();
  return 0;
}
