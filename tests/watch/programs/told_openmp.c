// OpenMP's events in the order in which runtimes send them to a tool. Two threads take turns, so that it is
// certain which of them waits. It needs no OpenMP.
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum event {
  parallel_begin = 3,
  parallel_end = 4,
  task_schedule = 6,
  implicit_task = 7,
  sync_region_wait = 16
};
enum {
  begin = 1,
  end = 2,
  implicit = 2,
  old_barrier = 2,
  explicit_barrier = 3,
  last_barrier = 9,
  ROUNDS = 5
};

union data {
  uint64_t value;
  void *pointer;
};
typedef void (*function)(void);
struct tool {
  int (*initialize)(function (*)(const char *), int, union data *);
  void (*finalize)(union data *);
  union data data;
};

static function callbacks[64];
static int set_callback(int event, function callback) {
  callbacks[event] = callback;
  return 5;
}
static function lookup(const char *name) {
  return strcmp(name, "ompt_set_callback") == 0 ? (function)set_callback : NULL;
}

// What the runtime keeps for a parallel region and its threads.
struct region {
  union data region, tasks[2];
};
static void begin_region(struct region *of, unsigned threads) {
  memset(of, 0, sizeof *of);
  ((void (*)(union data *, const void *, union data *, unsigned, int,
             const void *))callbacks[parallel_begin])(NULL, NULL, &of->region, threads, (int)0x80000000,
                                                      NULL);
}
static void end_region(struct region *of) {
  ((void (*)(union data *, union data *, int, const void *))callbacks[parallel_end])(&of->region, NULL, 0,
                                                                                     NULL);
}
static void part(struct region *of, int endpoint, unsigned threads, unsigned index) {
  ((void (*)(int, union data *, union data *, unsigned, unsigned, int))callbacks[implicit_task])(
      endpoint, endpoint == begin ? &of->region : NULL, &of->tasks[index], threads, index, implicit);
}
static void wait_in(struct region *of, int kind, int endpoint, unsigned index) {
  ((void (*)(int, int, union data *, union data *, const void *))callbacks[sync_region_wait])(
      kind, endpoint, endpoint == begin ? &of->region : NULL, &of->tasks[index], NULL);
}
static void schedule(union data *prior, int status, union data *next) {
  ((void (*)(union data *, int, union data *))callbacks[task_schedule])(prior, status, next);
}
static void work(void) {
  const struct timespec time = {0, 20000000};
  nanosleep(&time, NULL);
}

// The second thread does one thing at a time, while the first one waits for it.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void (*job)(struct region *);
static struct region *of_job;
static int is_over;
static void *second_thread(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (job == NULL && !is_over) pthread_cond_wait(&changed, &mutex);
    if (job == NULL) break;
    job(of_job);
    job = NULL;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}
static void on_second(void (*what)(struct region *), struct region *of) {
  pthread_mutex_lock(&mutex);
  job = what;
  of_job = of;
  pthread_cond_broadcast(&changed);
  while (job != NULL) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

static int kind;
static void second_begins(struct region *of) { part(of, begin, 2, 1); }
static void second_waits(struct region *of) { wait_in(of, kind, begin, 1); }
static void second_goes_on(struct region *of) { wait_in(of, kind, end, 1); }
static void second_works(struct region *of) {
  (void)of;
  work();
}
static void second_ends(struct region *of) {
  wait_in(of, kind, end, 1);
  part(of, end, 0, 1);
}
static void second_executes_task(struct region *of) {
  union data task = {0};
  schedule(&of->tasks[1], 7, &task);
  work();
  schedule(&task, 1, &of->tasks[1]);
}
static void second_nests(struct region *of) {
  struct region inner;
  (void)of;
  begin_region(&inner, 1);
  part(&inner, begin, 1, 0);
  work();
  part(&inner, end, 1, 0);
  end_region(&inner);
}
static void second_communicates(struct region *of) {
  int mine = 0, got = 0;
  (void)of;
  REGION("second") MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
}

static void both_begin(struct region *of) {
  begin_region(of, 2);
  part(of, begin, 2, 0);
  on_second(second_begins, of);
}
// LLVM's runtime reports late that its other threads have ended their part: when they begin the next one.
static void both_end(struct region *of, int is_late) {
  wait_in(of, kind, begin, 0);
  wait_in(of, kind, end, 0);
  part(of, end, 2, 0);
  if (!is_late) on_second(second_ends, of);
  end_region(of);
  if (is_late) on_second(second_ends, of);
}

// The second thread has nothing to do.
static void uneven(int of_kind, int is_late) {
  struct region region;
  kind = of_kind;
  both_begin(&region);
  on_second(second_waits, &region);
  work();
  both_end(&region, is_late);
}
// First the one thread waits for the other, then the reverse.
static void by_turns(int inner, int of_kind) {
  struct region region;
  kind = inner;
  both_begin(&region);
  on_second(second_waits, &region);
  work();
  wait_in(&region, kind, begin, 0);
  wait_in(&region, kind, end, 0);
  on_second(second_goes_on, &region);
  kind = of_kind;
  // The first thread waits at the end.
  wait_in(&region, kind, begin, 0);
  on_second(second_works, &region);
  on_second(second_waits, &region);
  wait_in(&region, kind, end, 0);
  part(&region, end, 2, 0);
  end_region(&region);
  on_second(second_ends, &region);
}
static void tasks(int of_kind) {
  struct region region;
  kind = of_kind;
  both_begin(&region);
  on_second(second_waits, &region);
  wait_in(&region, kind, begin, 0);
  on_second(second_executes_task, &region);
  wait_in(&region, kind, end, 0);
  part(&region, end, 2, 0);
  end_region(&region);
  on_second(second_ends, &region);
}
static void with(void (*what)(struct region *)) {
  struct region region;
  kind = last_barrier;
  both_begin(&region);
  on_second(what, &region);
  REGION("first") MPI_Barrier(MPI_COMM_WORLD);
  on_second(second_waits, &region);
  both_end(&region, 1);
}
static void deep(int depth) {
  struct region region;
  if (depth == 0) return;
  begin_region(&region, 1);
  part(&region, begin, 1, 0);
  deep(depth - 1);
  part(&region, end, 1, 0);
  end_region(&region);
}

static pthread_t start_second(void) {
  pthread_t thread;
  is_over = 0;
  CHECK(pthread_create(&thread, NULL, second_thread, NULL) == 0);
  return thread;
}
static void end_second(pthread_t thread) {
  pthread_mutex_lock(&mutex);
  is_over = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  int level = 0;
  struct tool *(*start_tool)(unsigned, const char *) = NULL;
  *(void **)&start_tool = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  CHECK(start_tool != NULL);
  struct tool *tool = start_tool(202011, "a runtime");
  if (tool == NULL || tool->initialize == NULL) {
    puts(tool == NULL ? "no tool" : "another tool");
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
  }
  CHECK(tool->initialize(lookup, 0, &tool->data) == 1);
  pthread_t second = start_second();
  uneven(last_barrier, 1);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  for (int i = 0; i < ROUNDS; i++) {
    REGION("late") uneven(last_barrier, 1);
    REGION("early") uneven(last_barrier, 0);
    REGION("old") uneven(old_barrier, 1);
    REGION("by turns") by_turns(explicit_barrier, last_barrier);
    REGION("old by turns") by_turns(old_barrier, old_barrier);
    REGION("tasks") tasks(last_barrier);
    REGION("old tasks") tasks(old_barrier);
    REGION("nested") with(second_nests);
    REGION("communication") with(level == MPI_THREAD_MULTIPLE ? second_communicates : second_works);
    REGION("deep") deep(6);
  }
  end_second(second);
  for (int i = 0; i < 20 * ROUNDS; i++) {
    second = start_second();
    REGION("new threads") with(second_works);
    end_second(second);
  }
  MPI_Pcontrol(0);
  second = start_second();
  REGION("off") uneven(last_barrier, 1);
  MPI_Pcontrol(1);
  end_second(second);
  MPI_Finalize();
  deep(1);
  tool->finalize(&tool->data);
  return 0;
}
