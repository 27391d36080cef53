// Calls that are left by longjmp, from where MPI calls the program back or a signal arrives, and calls inside
// of others that are not left.
#define _GNU_SOURCE
#include "common.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

enum { times = 3, sends = 10 };
static sigjmp_buf back;
static volatile int leaves;

static void ring(int count) {
  for (int i = 0; i < count; i++)
    MPI_Sendrecv(buffer, 1, MPI_INT, 0, 0, other, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

// With a frame far below that of the call that was left.
static void ring_below(int count) {
  volatile char frame[4096];
  frame[0] = frame[sizeof frame - 1] = 0;
  ring(count);
}

static void on_error(MPI_Comm *comm, int *code, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  (void)comm;
  MPI_Error_string(*code, text, &length); // inside the call
  if (leaves) siglongjmp(back, 1);
}

static void on_signal(int number) {
  (void)number;
  siglongjmp(back, 1);
}

static int copy_attribute(MPI_Comm comm, int key, void *state, void *from, void *to, int *flag) {
  int number;
  (void)key, (void)state;
  MPI_Comm_size(comm, &number); // inside the call
  *(void **)to = from, *flag = 0;
  return MPI_SUCCESS;
}

static ucontext_t outside, coroutine;
static void in_coroutine(void) { ring(sends); }
static void ring_in_coroutine(void) {
  static char stack[1 << 18];
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = sizeof stack;
  coroutine.uc_link = &outside;
  makecontext(&coroutine, in_coroutine, 0);
  swapcontext(&outside, &coroutine);
}

// The signal has a stack of its own, and arrives in MPI_Recv, which waits forever.
static void interrupt_receive(void) {
  static char stack[1 << 16];
  const stack_t other_stack = {.ss_sp = stack, .ss_size = sizeof stack};
  const struct itimerval soon = {.it_value = {.tv_usec = 50000}};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  sigaltstack(&other_stack, NULL);
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &soon, NULL);
  MPI_Recv(buffer, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Comm twin;
  int key;
  start(&argc, &argv);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  for (volatile int i = 0; i < times; i++) {
    leaves = 1;
    if (sigsetjmp(back, 1) == 0) MPI_Send(buffer, 1, MPI_INT, 5, 0, MPI_COMM_SELF);
    REGION("after send") ring(sends);
    if (sigsetjmp(back, 1) == 0) MPI_Isend(buffer, 1, MPI_INT, 5, 0, MPI_COMM_SELF, &request);
    REGION("after post") ring_below(sends);
    if (sigsetjmp(back, 1) == 0) MPI_Bcast(buffer, -1, MPI_INT, 0, MPI_COMM_SELF);
    REGION("after collective") ring(sends);
    REGION("in a coroutine") ring_in_coroutine();
    leaves = 0;
    REGION("not left") MPI_Send(buffer, 1, MPI_INT, 5, 0, MPI_COMM_SELF);
  }
  MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, buffer);
  REGION("not left") MPI_Comm_dup(MPI_COMM_SELF, &twin);
  MPI_Comm_free(&twin);
  if (argc > 1) {
    if (sigsetjmp(back, 1) == 0) interrupt_receive();
    REGION("after signal") ring(sends);
    fflush(stdout);
    _Exit(0); // MPI is in no good state
  }
  MPI_Finalize();
  return 0;
}
