// To be preloaded: each rank is on a machine of its own, whose clock is off and runs at another rate.
// PLANTED_OFFSETS and PLANTED_RATES: nanoseconds, and parts in a million, of each rank, separated by commas.
// PLANTED_BACK: nanoseconds that the clocks jump back every millisecond.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int own_rank(void) {
  const char *text = getenv("OMPI_COMM_WORLD_RANK");
  if (text == NULL) text = getenv("PMI_RANK");
  return text == NULL ? -1 : atoi(text);
}

static long long planted(const char *name) {
  const char *text = getenv(name);
  for (int i = own_rank(); text != NULL && i > 0; i--) {
    text = strchr(text, ',');
    if (text != NULL) text++;
  }
  return text == NULL || own_rank() < 0 ? 0 : atoll(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  static int64_t begun, offset, rate, back;
  const int status = (int)syscall(SYS_clock_gettime, clock, now);
  if (clock != CLOCK_MONOTONIC || status != 0) return status;
  int64_t time = now->tv_sec * INT64_C(1000000000) + now->tv_nsec;
  if (begun == 0) {
    begun = time;
    offset = planted("PLANTED_OFFSETS");
    rate = planted("PLANTED_RATES");
    back = getenv("PLANTED_BACK") == NULL ? 0 : atoll(getenv("PLANTED_BACK"));
  }
  const int64_t passed = time - begun;
  time += offset + passed * rate / 1000000 - passed / 1000000 * back;
  now->tv_sec = time / 1000000000;
  now->tv_nsec = time % 1000000000;
  return 0;
}

FILE *fopen64(const char *path, const char *mode) {
  static FILE *(*real)(const char *, const char *);
  if (real == NULL) {
    extern void *dlsym(void *, const char *);
    *(void **)&real = dlsym((void *)-1L, "fopen64"); // RTLD_NEXT
  }
  if (path == NULL || strcmp(path, "/proc/sys/kernel/random/boot_id") != 0 || own_rank() < 0)
    return real(path, mode);
  const int file = memfd_create("boot_id", 0);
  dprintf(file, "machine of rank %d\n", own_rank());
  lseek(file, 0, SEEK_SET);
  return fdopen(file, mode);
}

FILE *fopen(const char *path, const char *mode) { return fopen64(path, mode); }
