/* Overlaps an operator's communication with its work. The library does not know the operator. It knows two
 * sorts of work and two exchanges. Independent items may be done at any time and in any split. Dependent
 * items need the data of the input exchange and make the data of the output exchange.
 * docs/reference/overlap.md describes the policies.
 *
 *   struct haloscope_overlap_settings settings = haloscope_overlap_defaults();
 *   settings.policy = HALOSCOPE_OVERLAP_DYNAMIC;
 *   haloscope_overlap *overlap;
 *   if (haloscope_overlap_create(&settings, items, comm, &overlap)) puts(haloscope_overlap_error());
 *   for (;;) haloscope_overlap_run(overlap, 0, &pattern, NULL);
 *
 * The caller owns buffers and requests. A run allocates no memory, except the first run with `partners`.
 *
 * Thread safety: an object may be used by one thread at a time, different objects by different threads if MPI
 * has MPI_THREAD_MULTIPLE. Call create and run between MPI_Init and MPI_Finalize. Call no function from a
 * signal handler, and haloscope_overlap_run and haloscope_overlap_free not from a pattern's functions. */
#ifndef HALOSCOPE_OVERLAP_H
#define HALOSCOPE_OVERLAP_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum haloscope_overlap_policy {
  HALOSCOPE_OVERLAP_FIXED,    /* alpha is constant */
  HALOSCOPE_OVERLAP_DYNAMIC,  /* alpha follows the waiting times */
  HALOSCOPE_OVERLAP_TEST,     /* polls between chunks; dependent items start when the input has arrived */
  HALOSCOPE_OVERLAP_ADAPTIVE, /* as TEST, with a chunk size that follows the cost of a poll */
  HALOSCOPE_OVERLAP_REGIMES   /* an alpha for each regime of a model, mixed by their probabilities */
};

/* Distributions (docs/reference/regimes-model.md), with these parameters per regime. */
enum haloscope_overlap_family {
  HALOSCOPE_OVERLAP_GAUSSIAN,  /* mean, std */
  HALOSCOPE_OVERLAP_LOGNORMAL, /* log_mean, log_std */
  HALOSCOPE_OVERLAP_GAMMA,     /* shape, scale, shift */
  HALOSCOPE_OVERLAP_STUDENT    /* location, scale, degrees */
};

/* A hidden Markov model of a run's times. `blocks`, `input` and `output` have three parameters per regime, or
 * are NULL, but not all three. Parameters that the family does not have are ignored. The model is copied. */
struct haloscope_overlap_regimes {
  enum haloscope_overlap_family family;
  int count;
  const double *start;      /* count probabilities */
  const double *transition; /* count rows of count probabilities */
  const double *blocks;     /* seconds of a run without its dependent items */
  const double *input;  /* seconds from the begin of the first block to the arrival of the input; without */
  const double *output; /* waiting, at most the duration of the block; `output` in the same way */
};

struct haloscope_overlap_settings {
  enum haloscope_overlap_policy policy;
  double alpha;        /* share of the independent items before the dependent ones, in [0, 1]; default ½ */
  double theta;        /* damping, in [0, 1]; default ½ */
  double epsilon;      /* shorter waiting is ignored, in seconds, > 0; default 1e-4 */
  double largest_step; /* largest factor of α/(1−α) in one run, > 1; default 4 */
  size_t chunk;        /* items between two polls; default 0: a 64th of the items */
  double budget;       /* share of the time for polls with ADAPTIVE, in (0, 1]; default 0.005 */
  int phases;          /* number of phases, each with its own alpha; default 1 */
  int consistent;      /* 1: the input vector is consistent, so gather, then scatter; default 0 */
  int early_sends;     /* 1: start the second exchange's sends before the dependent items; default 0 */
  int partners;        /* 1: partners exchange their waiting times (haloscope_overlap_waited); default 0 */
  const char *region;  /* region of a run if the program is profiled, NULL: none; must outlive the object */
  const struct haloscope_overlap_regimes *regimes;
};

/* The times at which the caller can pack and unpack. */
enum haloscope_overlap_stage {
  HALOSCOPE_OVERLAP_PACK_INPUT,
  HALOSCOPE_OVERLAP_UNPACK_INPUT,
  HALOSCOPE_OVERLAP_PACK_OUTPUT,
  HALOSCOPE_OVERLAP_UNPACK_OUTPUT
};

/* Persistent requests, which are inactive between runs, or any requests that `start` makes active. */
struct haloscope_overlap_exchange {
  MPI_Request *receives;
  int receive_count;
  MPI_Request *sends;
  int send_count;
  /* NULL: MPI_Startall. Otherwise called for the receives (sends = 0) and for the sends (sends = 1); returns
   * an error code of MPI. */
  int (*start)(void *context, int sends);
};

struct haloscope_overlap_pattern {
  void *context;                                                /* for all functions */
  void (*independent)(void *context, size_t begin, size_t end); /* items [begin, end), in ascending order */
  void (*dependent)(void *context);
  void (*stage)(void *context, enum haloscope_overlap_stage stage); /* may be NULL */
  struct haloscope_overlap_exchange input, output;
};

/* The times of a run in seconds. A block is the work on independent items and the waiting after it. */
struct haloscope_overlap_times {
  double alpha; /* the one that was used; if polls ended the first part, its share */
  double input_wait, output_wait;
  double input_block, output_block;
  double partner_wait; /* longest waiting for this rank that a partner reported */
  size_t polls;
};

typedef struct haloscope_overlap haloscope_overlap;

/* @return the default settings, with the policy FIXED. */
struct haloscope_overlap_settings haloscope_overlap_defaults(void);

/* Creates an object. Collective over `comm`. If the settings of one rank are wrong, all ranks return an
 * error, and none keeps waiting.
 *
 * @param settings  copied, except `region`.
 * @param items     independent items of this rank; 0 is possible.
 * @param made      the object, NULL after an error.
 * @return MPI_SUCCESS, MPI_ERR_ARG, MPI_ERR_NO_MEM, or an error of MPI. */
int haloscope_overlap_create(const struct haloscope_overlap_settings *settings, size_t items, MPI_Comm comm,
                             haloscope_overlap **made);
/* Frees the object. NULL does nothing. Not collective. */
void haloscope_overlap_free(haloscope_overlap *overlap);
/* @return one line about the last failing call of this thread, valid until its next failing call. */
const char *haloscope_overlap_error(void);

/* One application of the operator.
 *
 * @param phase    from 0, less than settings.phases.
 * @param pattern  work and requests; read during the call.
 * @param times    may be NULL.
 * @return MPI_SUCCESS, MPI_ERR_ARG for an unknown phase, MPI_ERR_NO_MEM, or an error of MPI. */
int haloscope_overlap_run(haloscope_overlap *overlap, int phase,
                          const struct haloscope_overlap_pattern *pattern,
                          struct haloscope_overlap_times *times);

/* With `partners`, α also needs the waiting of ranks to which this rank only sends in the second exchange.
 * Each message of the first exchange carries one more number for that. Call both functions from `stage`.
 *
 * Before the message is sent, put the result of haloscope_overlap_waited into it: the seconds that this
 * phase's last run waited for the second exchange's receive with this index, from the same partner. After a
 * message has arrived, pass its number to haloscope_overlap_partner_waited.
 *
 * @param receive  index in the receives of the second exchange.
 * @param seconds  the partner's number.
 * @return seconds; 0 for an unknown phase. */
double haloscope_overlap_waited(const haloscope_overlap *overlap, int phase, int receive);
void haloscope_overlap_partner_waited(haloscope_overlap *overlap, int phase, double seconds);

/* @return the alpha of a phase for its next run; NaN for an unknown phase. */
double haloscope_overlap_alpha(const haloscope_overlap *overlap, int phase);
/* Learns from the times of a run that the caller has done itself.
 *
 * @param phase  an unknown phase does nothing.
 * @param times  of the run. */
void haloscope_overlap_learn(haloscope_overlap *overlap, int phase,
                             const struct haloscope_overlap_times *times);

/* The parts of the method, as pure functions that any thread may call. split returns the items before the
 * dependent ones. next_alpha is Algorithm 3 of Heldman, Rudi and Bessac (ICS 2025). chunk returns the items
 * between two polls for the seconds that a poll and an item take. */
size_t haloscope_overlap_split(size_t items, double alpha);
double haloscope_overlap_next_alpha(const struct haloscope_overlap_settings *settings, size_t items,
                                    double alpha, double input_wait, double output_wait);
size_t haloscope_overlap_chunk(size_t items, double budget, double poll_seconds, double item_seconds);

#ifdef __cplusplus
}
#endif

#endif
