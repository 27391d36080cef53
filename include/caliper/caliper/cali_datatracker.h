/* Caliper's markers of memory: programs build with them, and nothing is recorded. */
#ifndef CALI_CALI_DATATRACKER_H
#define CALI_CALI_DATATRACKER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
void cali_datatracker_track(const void *place, const char *label, size_t bytes);
void cali_datatracker_track_dimensional(const void *place, const char *label, size_t element_bytes,
                                        const size_t *dimensions, size_t count);
void cali_datatracker_untrack(const void *place);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#define CALI_DATATRACKER_TRACK(place, bytes) cali_datatracker_track(place, #place, bytes)
#define CALI_DATATRACKER_TRACK_DIMENSIONAL(place, bytes, dimensions, count)                                  \
  cali_datatracker_track_dimensional(place, #place, bytes, dimensions, count)
#define CALI_DATATRACKER_UNTRACK(place) cali_datatracker_untrack(place)

#endif
