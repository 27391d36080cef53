/* Allocates 1 GiB ten times and touches 4 KiB of it; prints the page faults and the seconds. `untouched all`
 * allocates 64 MiB and touches all of it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

int main(int count, char **arguments) {
  (void)arguments;
  const size_t bytes = count > 1 ? (size_t)64 << 20 : (size_t)1 << 30, touched = count > 1 ? bytes : 4096;
  struct timespec begin, end;
  struct rusage before, after;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 10; i++) {
    volatile char *block = malloc(bytes);
    for (size_t k = 0; k < touched; k += 4096) block[k] = 1;
    free((void *)block);
  }
  getrusage(RUSAGE_SELF, &after);
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%ld %.9f\n", after.ru_minflt - before.ru_minflt,
         (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
  return 0;
}
