// Events in NCCL's order, as NCCL would send them to its profiler: the thread that calls NCCL enqueues a
// collective, and a thread of NCCL reports begin and end of its kernel's channels. It needs no NCCL and no
// GPU.
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

enum { collective = 1 << 1, message = 1 << 2, channel = 1 << 6, channel_stop = 22 };

struct event {
  uint64_t type;
  void *parent;
  int rank;
  union {
    struct {
      uint64_t number;
      const char *function;
      const void *from;
      void *to;
      size_t count;
      int root;
      const char *datatype;
      uint8_t channels, warps;
      const char *algorithm, *protocol;
      void *group;
    } collective;
    struct {
      const char *function;
      void *buffer;
      const char *datatype;
      size_t count;
      int peer;
      uint8_t channels;
      void *group;
    } message;
    struct {
      uint8_t number;
      uint64_t timer;
    } channel;
  } of;
};
struct profiler {
  const char *name;
  int (*init)(void **, uint64_t, int *, const char *, int, int, int, void *);
  int (*start)(void *, void **, struct event *);
  int (*stop)(void *);
  int (*state)(void *, int, void *);
  int (*end)(void *);
};

static const struct profiler *profiler;
static void *context, *enqueued;
static int channels;

static void *kernel(void *unused) {
  void *handles[64];
  (void)unused;
  for (int i = 0; i < channels; i++) {
    struct event event = {.type = channel, .parent = enqueued, .of.channel = {.number = (uint8_t)i}};
    profiler->start(context, &handles[i], &event);
  }
  for (int i = 0; i < channels; i++) {
    profiler->state(handles[i], channel_stop, NULL);
    profiler->stop(handles[i]);
  }
  return NULL;
}

static void run(struct event event, int parts) {
  pthread_t proxy;
  channels = parts;
  event.rank = rank;
  profiler->start(context, &enqueued, &event);
  profiler->stop(enqueued);
  pthread_create(&proxy, NULL, kernel, NULL);
  pthread_join(proxy, NULL);
}

static struct event reduce(const char *function, size_t count, const char *algorithm, const char *protocol) {
  return (struct event){.type = collective,
                        .of.collective = {.function = function,
                                          .count = count,
                                          .datatype = "ncclFloat32",
                                          .channels = 4,
                                          .algorithm = algorithm,
                                          .protocol = protocol}};
}

int main(int argc, char **argv) {
  const char *path = getenv("NCCL_PROFILER_PLUGIN");
  void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  profiler = library == NULL ? NULL : dlsym(library, "ncclProfiler_v5");
  if (profiler == NULL) return 1;
  int wanted = 0;
#if defined(WITHOUT_MPI)
  (void)argc, (void)argv;
  profiler->init(&context, 1, &wanted, "world", 1, 2, 0, NULL);
  run(reduce("AllReduce", 100, "RING", "LL"), 4);
#else
  start(&argc, &argv);
  profiler->init(&context, 1, &wanted, "world", 1, size, rank, NULL);
  CHECK(wanted == (collective | message | channel));
  HALOSCOPE_COMM_REGION_BEGIN("training");
  for (int i = 0; i < 5; i++) run(reduce("AllReduce", 1000, "RING", "SIMPLE"), 4);
  for (int i = 0; i < 2; i++) run(reduce("AllReduce", 10, "TREE", "LL"), 4);
  run(reduce("ReduceScatter", 100, "NVLS", "SIMPLE"), 4);
  run((struct event){.type = message,
                     .of.message = {.function = "Send", .datatype = "ncclInt8", .count = 77, .channels = 1}},
      1);
  MPI_Allreduce(MPI_IN_PLACE, buffer, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  HALOSCOPE_COMM_REGION_END("training");
  // More at once than there is room for: none is lost, of some the end is.
  for (int i = 0; i < 5000; i++) {
    struct event event = reduce("Broadcast", 1, "RING", "LL128");
    profiler->start(context, &enqueued, &event);
    if (enqueued == NULL) return 2;
  }
  profiler->end(context);
  MPI_Finalize();
  run(reduce("AllReduce", 1, "RING", "LL"), 4); // too late
#endif
  return 0;
}
