/* Overlaps an operator's communication with its work. It knows no operator: there are independent items, of
 * which any part may be done at any time, dependent items, which need what comes in and make what goes out,
 * an input exchange and an output exchange. docs/reference/overlap.md has the whole story.
 *
 *   struct haloscope_overlap_settings settings = haloscope_overlap_defaults();
 *   settings.policy = HALOSCOPE_OVERLAP_DYNAMIC;
 *   haloscope_overlap *overlap;
 *   if (haloscope_overlap_create(&settings, items, comm, &overlap)) puts(haloscope_overlap_error());
 *   for (;;) haloscope_overlap_run(overlap, 0, &pattern, NULL);
 *
 * Buffers and requests are the caller's; a run allocates nothing. An object serves one thread at a time. */
#ifndef HALOSCOPE_OVERLAP_H
#define HALOSCOPE_OVERLAP_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum haloscope_overlap_policy {
  HALOSCOPE_OVERLAP_FIXED,    /* alpha stays */
  HALOSCOPE_OVERLAP_DYNAMIC,  /* alpha follows the waiting times */
  HALOSCOPE_OVERLAP_TEST,     /* polls between chunks; dependent items start when the input is there */
  HALOSCOPE_OVERLAP_ADAPTIVE, /* the same, and chunks are as long as polls are expensive */
  HALOSCOPE_OVERLAP_REGIMES   /* an alpha for each regime of a model, mixed by what is likely next */
};

/* Distributions of docs/reference/regimes-model.md, with these parameters for each regime. */
enum haloscope_overlap_family {
  HALOSCOPE_OVERLAP_GAUSSIAN,  /* mean, std */
  HALOSCOPE_OVERLAP_LOGNORMAL, /* log_mean, log_std */
  HALOSCOPE_OVERLAP_GAMMA,     /* shape, scale, shift */
  HALOSCOPE_OVERLAP_STUDENT    /* location, scale, degrees */
};

/* A hidden Markov model of a run's times. Of the three parameters that a regime has in each array those that
 * the family lacks are not read; at least one of the arrays is given, the others are NULL. Copied. */
struct haloscope_overlap_regimes {
  enum haloscope_overlap_family family;
  int count;
  const double *start;      /* count probabilities */
  const double *transition; /* count rows of count probabilities */
  const double *blocks;     /* of the seconds of a run without its dependent items */
  const double *input;      /* of the seconds from the first block's begin until the input is there: what */
  const double *output;     /* was not waited for took at most the block; of the output the same */
};

struct haloscope_overlap_settings {
  enum haloscope_overlap_policy policy;
  double alpha;        /* share of the independent items that stand before the dependent ones: ½ */
  double theta;        /* damping, in [0, 1]: ½ */
  double epsilon;      /* seconds of waiting that do not count, > 0: 1e-4 */
  double largest_step; /* by which α/(1−α) changes in one run at most, > 1: 4 */
  size_t chunk;        /* items between two polls; 0: a 64th of the items */
  double budget;       /* share of the time that polls may take, for ADAPTIVE: 0.005 */
  int phases;          /* each has an alpha of its own: 1 */
  int consistent;      /* the input vector is consistent: gather, then scatter */
  int early_sends;     /* the second exchange's sends are started before the dependent items (partitioned) */
  int partners;        /* partners say how long they waited for each other: haloscope_overlap_waited */
  const char *region; /* a run is an instance of this region when the program is watched; NULL: none. Kept. */
  const struct haloscope_overlap_regimes *regimes;
};

/* Where a caller can pack and unpack. `stage` may be NULL. */
enum haloscope_overlap_stage {
  HALOSCOPE_OVERLAP_PACK_INPUT,
  HALOSCOPE_OVERLAP_UNPACK_INPUT,
  HALOSCOPE_OVERLAP_PACK_OUTPUT,
  HALOSCOPE_OVERLAP_UNPACK_OUTPUT
};

/* Persistent requests, inactive between runs; or any, which `start` makes active. */
struct haloscope_overlap_exchange {
  MPI_Request *receives;
  int receive_count;
  MPI_Request *sends;
  int send_count;
  /* NULL: MPI_Startall. Else called for the receives (0) and for the sends (1); returns MPI's error code. */
  int (*start)(void *context, int sends);
};

struct haloscope_overlap_pattern {
  void *context; /* for all functions */
  void (*independent)(void *context, size_t begin, size_t end);
  void (*dependent)(void *context);
  void (*stage)(void *context, enum haloscope_overlap_stage stage);
  struct haloscope_overlap_exchange input, output;
};

/* What a run took, in seconds. Blocks are the work on independent items and the waiting after it. */
struct haloscope_overlap_times {
  double alpha; /* that was used; where polls ended the first part, its share */
  double input_wait, output_wait;
  double input_block, output_block;
  double partner_wait; /* the longest that a partner says it waited for this rank */
  size_t polls;
};

typedef struct haloscope_overlap haloscope_overlap;

struct haloscope_overlap_settings haloscope_overlap_defaults(void);

/* Collective: if one rank's settings make no sense, all ranks return an error, and none is left waiting.
 * A rank may have no items. Returns MPI_SUCCESS or MPI_ERR_ARG. */
int haloscope_overlap_create(const struct haloscope_overlap_settings *settings, size_t items, MPI_Comm comm,
                             haloscope_overlap **made);
void haloscope_overlap_free(haloscope_overlap *overlap);
/* What the last failing call of this thread says, in one line. */
const char *haloscope_overlap_error(void);

/* One application of the operator. `times` may be NULL. Returns MPI's error code. */
int haloscope_overlap_run(haloscope_overlap *overlap, int phase,
                          const struct haloscope_overlap_pattern *pattern,
                          struct haloscope_overlap_times *times);

/* With `partners`, what α has to know where a rank sends in the second exchange, but receives nothing: a
 * message of the first exchange has room for one number more. Before it is sent: the seconds that this
 * phase's last run waited for the second exchange's receive of that number in the array, which is of the same
 * partner. When it has come: the partner's number goes to haloscope_overlap_partner_waited. Both are for
 * `stage`. */
double haloscope_overlap_waited(const haloscope_overlap *overlap, int phase, int receive);
void haloscope_overlap_partner_waited(haloscope_overlap *overlap, int phase, double seconds);

/* A phase's alpha for its next run. */
double haloscope_overlap_alpha(const haloscope_overlap *overlap, int phase);
/* Tells a phase what a run took without running it, as for a solver that does the steps itself. */
void haloscope_overlap_learn(haloscope_overlap *overlap, int phase,
                             const struct haloscope_overlap_times *times);

/* The pieces, pure. Items before the dependent ones; the next alpha (Algorithm 3 of Heldman, Rudi and Bessac,
 * ICS 2025); the items of a chunk by what a poll and an item take. */
size_t haloscope_overlap_split(size_t items, double alpha);
double haloscope_overlap_next_alpha(const struct haloscope_overlap_settings *settings, size_t items,
                                    double alpha, double input_wait, double output_wait);
size_t haloscope_overlap_chunk(size_t items, double budget, double poll_seconds, double item_seconds);

#ifdef __cplusplus
}
#endif

#endif
