// Markers: nesting, recursion, instances, mistakes, odd names.
#include "common.h"

static void send(int messages, int count) {
  for (int i = 0; i < messages; i++)
    MPI_Sendrecv(buffer, count, MPI_INT, rank, 0, other, count, MPI_INT, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void to(int peer, int count) {
  MPI_Sendrecv(buffer, count, MPI_INT, peer, 0, other, count, MPI_INT, peer, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void nested(void) {
  HALOSCOPE_COMM_REGION_BEGIN("outer");
  send(1, 1);
  HALOSCOPE_COMM_REGION_BEGIN("inner");
  send(1, 2);
  HALOSCOPE_COMM_REGION_END("inner");
  send(1, 4);
  HALOSCOPE_COMM_REGION_END("outer");
}

static void recurse(int depth) {
  HALOSCOPE_REGION_BEGIN("level");
  send(1, depth);
  if (depth > 1) recurse(depth - 1);
  HALOSCOPE_REGION_END("level");
}

// Rank 0: 3, 0 and 5 messages; rank 1: 1 message; others none.
static void instances(void) {
  static const int of_rank_0[] = {3, 0, 5};
  if (rank == 0)
    for (int i = 0; i < 3; i++) REGION("varying") send(of_rank_0[i], 10);
  if (rank == 1) REGION("varying") send(1, 1000);
}

// Instances that differ only in nested regions.
static void nested_or_not(void) {
  REGION("only inside") REGION("inside") send(1, 1);
  REGION("only inside") {}
  REGION("also inside") {
    send(1, 1);
    REGION("inside") send(1, 1);
  }
  REGION("also inside") send(1, 1);
}

// An instance with itself, one with its peer, one with both and a nested region.
static void partners(void) {
  REGION("partners") to(rank, 1);
  REGION("partners") to(1 - rank, 1);
  REGION("partners") {
    to(rank, 1);
    REGION("deeper") to(1 - rank, 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void mistakes(void) {
  HALOSCOPE_REGION_END("never begun");
  HALOSCOPE_REGION_BEGIN("open");
  HALOSCOPE_REGION_BEGIN("left open");
  send(1, 1);
  HALOSCOPE_REGION_END("open"); // closes both
  REGION("after") send(1, 1);
}

static void names(void) {
  char name[3001];
  REGION("with/slash") send(1, 1);
  REGION("Übergröße \"quoted\", 'too'\\n") send(1, 1);
  REGION("") send(1, 1);
  memset(name, 'x', 3000), name[3000] = 0;
  REGION(name) send(1, 1);
  // One buffer, another text each time.
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "step %d", i);
    REGION(name) send(1, i);
  }
  // Equal texts in different places.
  static const char first[] = "twin", second[] = "twin";
  HALOSCOPE_REGION_BEGIN(first);
  send(1, 1);
  HALOSCOPE_REGION_END(second);
  REGION(second) send(1, 1);
}

static void controlled(void) {
  REGION("controlled") {
    send(1, 1);
    MPI_Pcontrol(0);
    send(1, 10);
    REGION("off") send(1, 10);
    MPI_Pcontrol(1);
    send(1, 100);
  }
  MPI_Pcontrol(0);
  HALOSCOPE_REGION_BEGIN("half on");
  send(1, 1);
  MPI_Pcontrol(1);
  send(1, 1000);
  HALOSCOPE_REGION_END("half on");
  MPI_Pcontrol(2); // not ours
  REGION("back on") send(1, 1);
}

int main(int argc, char **argv) {
  HALOSCOPE_REGION_BEGIN("before MPI");
  HALOSCOPE_REGION_END("before MPI");
  start(&argc, &argv);
  nested();
  recurse(3);
  instances();
  nested_or_not();
  if (size == 2) partners();
  mistakes();
  names();
  controlled();
  HALOSCOPE_REGION_BEGIN("to the end");
  MPI_Finalize();
  HALOSCOPE_REGION_END("to the end");
  return 0;
}
