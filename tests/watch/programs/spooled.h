// Waiting for the recorder's background thread: it writes the trace to a file in HALOSCOPE_TRACE_SPOOL.
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// The bytes of the files in that directory; -1 if there is no such directory.
static long spooled(void) {
  const char *place = getenv("HALOSCOPE_TRACE_SPOOL");
  DIR *directory = place == NULL ? NULL : opendir(place);
  if (directory == NULL) return -1;
  long bytes = 0;
  struct dirent *entry;
  while ((entry = readdir(directory)) != NULL) {
    char path[4096];
    struct stat found;
    snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
    if (stat(path, &found) == 0 && S_ISREG(found.st_mode)) bytes += (long)found.st_size;
  }
  closedir(directory);
  return bytes;
}

// Returns when more is there than at the call before.
static void wait_for_more(void) {
  static long before = 0;
  long bytes;
  while ((bytes = spooled()) >= 0 && bytes <= before) usleep(1000);
  before = bytes;
}
