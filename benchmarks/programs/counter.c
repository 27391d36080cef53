// Counts the calls of each MPI function, independently of the recorder. Preloaded:
//   mpicc -shared -fPIC -O1 -mgeneral-regs-only -I DIRECTORY_OF_names.h counter.c -o counter.so
//   mpiexec -n 2 env LD_PRELOAD=$PWD/counter.so COUNTER_DIRECTORY=counts ./program
// COUNTER_DIRECTORY/PID has a 64-bit number per name. It is mapped, so it is complete however a process ends.
//
// names.h has a line per exported name, `NAME(number, name of the symbol, function)`: the C name and the
// Fortran names. Each name is a few instructions that count and jump to the next definition of the name. So
// the counter knows no signature, and arguments pass untouched. Calls that an MPI library makes itself do not
// count. x86-64.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME(number, symbol, function)                                                                       \
  __asm__(".text\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n  pushq $" #number         \
          "\n  jmp counter_enter\n");
#include "names.h"
#undef NAME
#define NAME(number, symbol, function) #symbol,
static const char *const symbols[] = {
#include "names.h"
};
enum { NAMES = sizeof symbols / sizeof *symbols, CALLERS = 1 << 14 };

static long unmapped[NAMES];
static long *counts = unmapped;
static void *targets[NAMES];
static __thread int is_ending; // callbacks of attributes call MPI in MPI_Finalize: not compared
// Return addresses that were looked up, and whether they are in an MPI library (2) or not (1).
static struct {
  void *address;
  int kind;
} callers[CALLERS];

// The stack has the number of the name and the return address. Argument registers are kept.
__asm__(".text\ncounter_enter:\n"
        "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n"
        "  mov 48(%rsp), %rdi\n  mov 56(%rsp), %rsi\n  call counter_count\n"
        "  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n"
        "  add $8, %rsp\n  jmp *%rax\n");

static int is_mpi(const char *path) {
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  static const char *const starts[] = {"libmpi.so", "libmpi_mpifh", "libmpi_usempi", "libmpich", "libmpi_cxx",
                                       "mca_",      "libopen-pal",  "libopen-rte",   "libmca_"};
  for (unsigned i = 0; i < sizeof starts / sizeof *starts; i++)
    if (!strncmp(name, starts[i], strlen(starts[i]))) return 1;
  return 0;
}

static int from_mpi(void *address) {
  unsigned long slot = ((unsigned long)address * 0x9E3779B97F4A7C15ul) >> 50;
  if (__atomic_load_n(&callers[slot].address, __ATOMIC_ACQUIRE) == address) return callers[slot].kind == 2;
  Dl_info found;
  int kind = dladdr(address, &found) && found.dli_fname && is_mpi(found.dli_fname) ? 2 : 1;
  void *empty = NULL;
  if (__atomic_compare_exchange_n(&callers[slot].address, &empty, (void *)-1, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    callers[slot].kind = kind;
    __atomic_store_n(&callers[slot].address, address, __ATOMIC_RELEASE);
  }
  return kind == 2;
}

// An MPI that was opened late is not in the global scope.
static int look_in(struct dl_phdr_info *object, size_t size, void *result) {
  (void)size;
  void **found = result;
  if (!is_mpi(object->dlpi_name)) return 0;
  void *library = dlopen(object->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  void *address = library ? dlsym(library, found[1]) : NULL;
  if (address) found[0] = address;
  return address != NULL;
}

__attribute__((constructor)) static void map_counts(void) {
  const char *directory = getenv("COUNTER_DIRECTORY");
  char path[4096];
  if (!directory || snprintf(path, sizeof path, "%s/%d", directory, (int)getpid()) >= (int)sizeof path)
    return;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (!ftruncate(file, sizeof unmapped)) {
    void *memory = mmap(NULL, sizeof unmapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) counts = memory;
  }
  close(file);
}

__attribute__((used)) void *counter_count(long number, void *caller) {
  void *target = __atomic_load_n(&targets[number], __ATOMIC_ACQUIRE);
  if (!target) {
    target = dlsym(RTLD_NEXT, symbols[number]);
    if (!target) {
      void *found[2] = {NULL, (void *)symbols[number]};
      dl_iterate_phdr(look_in, found);
      target = found[0];
    }
    if (!target) {
      fprintf(stderr, "counter: no %s in this process\n", symbols[number]);
      abort();
    }
    __atomic_store_n(&targets[number], target, __ATOMIC_RELEASE);
  }
  if (!strncasecmp(symbols[number], "mpi_finalize", 12) && strncasecmp(symbols[number], "mpi_finalized", 13))
    is_ending = 1;
  if (!is_ending && !from_mpi(caller)) __atomic_fetch_add(&counts[number], 1, __ATOMIC_RELAXED);
  return target;
}
