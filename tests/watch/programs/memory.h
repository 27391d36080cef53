#pragma once

#include <stdio.h>

// The most memory that the process had resident, in KiB.
static long memory_max(void) {
  char line[256];
  long found = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "VmHWM: %ld", &found);
  if (status != NULL) fclose(status);
  return found;
}
