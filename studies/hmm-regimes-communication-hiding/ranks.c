/* MatVecs of many ranks in virtual time: Algorithm 2 of the paper under given latencies.
 *
 *   ranks LATENCIES OUTPUT name=value …
 *
 * Ranks are boxes of elements in a grid. A shared node belongs to the lowest of its ranks, so that input
 * comes from up to seven lower neighbours, and output from up to seven upper ones. Dependencies within a
 * MatVec have no cycles: the start times of all neighbours determine when inputs arrive, and so on. So no
 * queue of events is needed. src/hide/overlap determines each rank's α, with one object per rank. Random
 * numbers depend on seed, rank and MatVec only, so that all methods have the same latencies. */
#include <haloscope/overlap.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATES = 32, NEIGHBOURS = 7, SAMPLES = 10, KEPT_VALUES = 7, MOST_PHASES = 8 };

static double option(int argc, char **argv, const char *name, double otherwise) {
  const size_t length = strlen(name);
  for (int i = 3; i < argc; i++)
    if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') return atof(argv[i] + length + 1);
  return otherwise;
}

/* ---- latencies */

struct model {
  int states, machine_states;
  double machine_start[MOST_STATES], machine[MOST_STATES][MOST_STATES];
  double start[MOST_STATES][MOST_STATES], transition[MOST_STATES][MOST_STATES][MOST_STATES];
  double log_mean[MOST_STATES], log_std[MOST_STATES];
  int regime[MOST_STATES];
  /* The regimes without the machine's states, for the policy `regimes`. */
  int regimes;
  double start_of_regimes[MOST_STATES], transition_of_regimes[MOST_STATES * MOST_STATES],
      parameters[3 * MOST_STATES];
};

static double number(FILE *file) {
  double value;
  if (fscanf(file, "%lf", &value) != 1) {
    fputs("ranks: the file of latencies ends too early\n", stderr);
    exit(2);
  }
  return value;
}

static void row(FILE *file, double *values, int count) {
  for (int i = 0; i < count; i++) values[i] = number(file);
}

static void read_model(struct model *m, const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    fprintf(stderr, "ranks: %s cannot be read\n", path);
    exit(2);
  }
  m->states = (int)number(file);
  m->machine_states = (int)number(file);
  if (m->states < 1 || m->states > MOST_STATES || m->machine_states < 1 || m->machine_states > MOST_STATES)
    exit(2);
  row(file, m->machine_start, m->machine_states);
  for (int i = 0; i < m->machine_states; i++) row(file, m->machine[i], m->machine_states);
  for (int i = 0; i < m->machine_states; i++) {
    row(file, m->start[i], m->states);
    for (int j = 0; j < m->states; j++) row(file, m->transition[i][j], m->states);
  }
  for (int i = 0; i < m->states; i++) {
    m->log_mean[i] = number(file);
    m->log_std[i] = number(file);
    m->regime[i] = (int)number(file);
  }
  m->regimes = (int)number(file);
  if (m->regimes < 1 || m->regimes > MOST_STATES) exit(2);
  row(file, m->start_of_regimes, m->regimes);
  row(file, m->transition_of_regimes, m->regimes * m->regimes);
  for (int i = 0; i < m->regimes; i++) row(file, m->parameters + 3 * i, 2);
  fclose(file);
}

static uint64_t next(uint64_t *state) { /* splitmix64 */
  uint64_t z = (*state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

static double uniform(uint64_t *state) { return ((double)(next(state) >> 11) + 0.5) / 9007199254740992.0; }

static double normal(uint64_t *state) {
  const double radius = sqrt(-2 * log(uniform(state)));
  return radius * cos(6.283185307179586 * uniform(state));
}

static int chosen(const double *probabilities, int count, double draw) {
  int i = 0;
  for (; i + 1 < count && draw >= probabilities[i]; i++) draw -= probabilities[i];
  return i;
}

/* ---- ranks */

struct rank {
  int lower[NEIGHBOURS], upper[NEIGHBOURS], lower_count, upper_count;
  size_t items, mirrors;
  haloscope_overlap *overlap;
  uint64_t random;
  int state;
  double noise, input_latency, output_latency; /* of this MatVec */
  double begin, sent, end;          /* of this MatVec; sent: mirrors done, contributions are sent */
  double scattered;                 /* with consistent input: results are sent */
  double worked;                    /* the second block's items are done */
  double partner_wait[MOST_PHASES]; /* the longest wait for this rank in the phase's last MatVec */
  struct haloscope_overlap_times times;
  size_t first; /* items */
  double sum_alpha, sum_time, sum_input, sum_output;
};

static int grid[3], ranks, polls, consistent, partners;
static struct haloscope_overlap_settings settings;
static double element, poll_seconds;
static struct rank *all;

static int at(int x, int y, int z) {
  return x < 0 || y < 0 || z < 0 || x >= grid[0] || y >= grid[1] || z >= grid[2]
             ? -1
             : x + grid[0] * (y + grid[1] * z);
}

static void place(struct rank *r, int number, const int *elements) {
  const int x[3] = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
  for (int mask = 1; mask <= NEIGHBOURS; mask++) {
    const int d[3] = {mask & 1, mask >> 1 & 1, mask >> 2 & 1};
    const int low = at(x[0] - d[0], x[1] - d[1], x[2] - d[2]), up = at(x[0] + d[0], x[1] + d[1], x[2] + d[2]);
    if (low >= 0) r->lower[r->lower_count++] = low;
    if (up >= 0) r->upper[r->upper_count++] = up;
  }
  size_t whole = 1, inner = 1;
  for (int i = 0; i < 3; i++) {
    const int open = elements[i] - (x[i] > 0) - (x[i] + 1 < grid[i]);
    whole *= (size_t)elements[i];
    inner *= (size_t)(open > 0 ? open : 0);
  }
  r->items = inner;
  r->mirrors = whole - inner;
}

static double last(const int *of, int count, int output, double otherwise) {
  double latest = otherwise;
  for (int i = 0; i < count; i++) {
    const struct rank *other = &all[of[i]];
    const double time = !output ? other->begin : other->sent;
    if (time > latest) latest = time;
  }
  return latest;
}

/* Computes independent items from `done` on, then waits, as Run::part of the library. Returns seconds. */
static double part(struct rank *r, size_t *done, size_t end, double now, double ready, int leaves,
                   double *waited) {
  const double item = element * r->noise, begin = now;
  int there = 0;
  if (polls) {
    size_t chunk = settings.chunk != 0 ? settings.chunk : r->items / 64 > 0 ? r->items / 64 : 1;
    if (settings.policy == HALOSCOPE_OVERLAP_ADAPTIVE)
      chunk = haloscope_overlap_chunk(r->items, settings.budget, poll_seconds, element);
    now += poll_seconds;
    there = ready <= now;
    while (*done < r->items && !(there && leaves)) {
      const size_t stop = there || *done + chunk > r->items ? r->items : *done + chunk;
      now += item * (double)(stop - *done);
      *done = stop;
      if (!there && *done < r->items) {
        now += poll_seconds;
        there = ready <= now;
      }
    }
  } else if (end > *done) {
    now += item * (double)(end - *done);
    *done = end;
  }
  *waited = !there && ready > now ? ready - now : 0;
  return now + *waited - begin;
}

/* From the begin of a MatVec until contributions are sent. */
static void first_half(struct rank *r, int phase) {
  const double alpha = haloscope_overlap_alpha(r->overlap, phase);
  const size_t stop = polls ? 0 : haloscope_overlap_split(r->items, alpha);
  const double ready = last(r->lower, r->lower_count, 0, -1) + r->input_latency;
  size_t done = 0;
  memset(&r->times, 0, sizeof r->times);
  r->times.input_block =
      part(r, &done, stop, r->begin, r->lower_count ? ready : r->begin, 1, &r->times.input_wait);
  r->first = done;
  r->times.alpha = polls ? (r->items ? (double)done / (double)r->items : 0.5) : alpha;
  r->sent = r->begin + r->times.input_block + element * r->noise * (double)r->mirrors;
}

static void second_half(struct rank *r) {
  const double ready = last(r->upper, r->upper_count, 1, -1) + r->output_latency;
  size_t done = r->first;
  r->times.output_block =
      part(r, &done, r->items, r->sent, r->upper_count ? ready : r->sent, 0, &r->times.output_wait);
  r->end = r->sent + r->times.output_block;
  r->worked = r->end - r->times.output_wait;
}

/* Gather, then scatter: mirrors are computed first, and the order of the exchanges is reversed. */
static void gather(struct rank *r, int phase) {
  const double alpha = haloscope_overlap_alpha(r->overlap, phase);
  const double ready = last(r->upper, r->upper_count, 1, -1) + r->output_latency;
  size_t done = 0;
  memset(&r->times, 0, sizeof r->times);
  r->times.output_block = part(r, &done, polls ? 0 : haloscope_overlap_split(r->items, alpha), r->sent,
                               r->upper_count ? ready : r->sent, 1, &r->times.output_wait);
  r->first = done;
  r->times.alpha = polls ? (r->items ? (double)done / (double)r->items : 0.5) : alpha;
  r->scattered = r->sent + r->times.output_block;
}

static void scatter(struct rank *r) {
  double ready = -1;
  for (int i = 0; i < r->lower_count; i++)
    if (all[r->lower[i]].scattered > ready) ready = all[r->lower[i]].scattered;
  size_t done = r->first;
  r->times.input_block =
      part(r, &done, r->items, r->scattered, r->lower_count ? ready + r->input_latency : r->scattered, 0,
           &r->times.input_wait);
  r->end = r->scattered + r->times.input_block;
  r->worked = r->end - r->times.input_wait;
}

/* The next first exchange brings how long receivers waited for what this rank sent in the second one. */
static void exchange_waits(struct rank *r, int phase) {
  const int *to = consistent ? r->upper : r->lower, count = consistent ? r->upper_count : r->lower_count;
  double longest = 0;
  for (int i = 0; i < count; i++) {
    const struct rank *other = &all[to[i]];
    const double came = consistent ? r->scattered + other->input_latency : r->sent + other->output_latency;
    if (came - other->worked > longest) longest = came - other->worked;
  }
  r->partner_wait[phase] = longest;
}

static void matvec(int phase) {
  if (!consistent) {
    for (int p = 0; p < ranks; p++) first_half(&all[p], phase);
    for (int p = 0; p < ranks; p++) second_half(&all[p]);
  } else {
    for (int p = 0; p < ranks; p++)
      all[p].sent = all[p].begin + element * all[p].noise * (double)all[p].mirrors;
    for (int p = 0; p < ranks; p++) gather(&all[p], phase);
    for (int p = 0; p < ranks; p++) scatter(&all[p]);
  }
  for (int p = 0; p < ranks; p++) {
    all[p].times.partner_wait = all[p].partner_wait[phase];
    haloscope_overlap_learn(all[p].overlap, phase, &all[p].times);
  }
  for (int p = 0; partners && p < ranks; p++) exchange_waits(&all[p], phase);
}

/* ---- scenario */

struct scenario {
  struct model model;
  double noise, input_latency, input_spread, from, to, factor, scale;
  uint64_t random;
  int machine_state;
};

/* Draws the latencies and the noise of the work for this MatVec. They are the same for all methods. */
static void draw(struct scenario *s, double time) {
  const struct model *m = &s->model;
  const double *of = time < 0 ? m->machine_start : m->machine[s->machine_state];
  s->machine_state = chosen(of, m->machine_states, uniform(&s->random));
  const double factor = s->scale * (time >= s->from && time < s->to ? s->factor : 1);
  for (int p = 0; p < ranks; p++) {
    struct rank *r = &all[p];
    of = time < 0 ? m->start[s->machine_state] : m->transition[s->machine_state][r->state];
    r->state = chosen(of, m->states, uniform(&r->random));
    r->output_latency = factor * exp(m->log_mean[r->state] + m->log_std[r->state] * normal(&r->random));
    r->input_latency = s->input_latency * exp(s->input_spread * normal(&r->random));
    r->noise = exp(s->noise * normal(&r->random) - s->noise * s->noise / 2);
  }
}

/* ---- solvers */

/* MatVecs of an iteration on the finest level, and how ranks begin the next. CG has one MatVec, and a sum
 * over all ranks after it. GMG-CG has the energy product, a smoothing step (the first one needs no product),
 * the residual, the coarse levels, and two more smoothing steps, as src/fem/solve. The time of the coarse
 * levels differs between ranks. Sums follow the first and the last MatVec. */
enum { ENERGY, SMOOTHER, RESIDUAL, PHASES, CYCLE = 5, BEFORE_COARSE = 2 };
static const int cycle[CYCLE] = {ENERGY, SMOOTHER, RESIDUAL, SMOOTHER, SMOOTHER};

static void advance(int multigrid, int place, double sum, double coarse) {
  double latest = 0;
  for (int p = 0; p < ranks; p++)
    if (all[p].end > latest) latest = all[p].end;
  for (int p = 0; p < ranks; p++) {
    struct rank *r = &all[p];
    const int together = !multigrid || place == 0 || place == CYCLE - 1;
    r->begin = together ? latest + sum : r->end;
    const double spread = normal(&r->random);
    if (multigrid && place == BEFORE_COARSE) r->begin += coarse * exp(0.25 * spread - 0.03125);
  }
}

static void keep(float *to, const struct rank *r, const struct model *m) {
  const struct haloscope_overlap_times *t = &r->times;
  const double values[KEPT_VALUES] = {t->input_block, t->output_block,     t->input_wait,    t->output_wait,
                                      t->alpha,       m->regime[r->state], r->output_latency};
  for (int i = 0; i < KEPT_VALUES; i++) to[i] = (float)values[i];
}

static void note(struct rank *r) {
  r->sum_alpha += r->times.alpha;
  r->sum_time += r->times.input_block + r->times.output_block;
  r->sum_input += r->times.input_wait;
  r->sum_output += r->times.output_wait;
}

static void make(int argc, char **argv) {
  const int elements[3] = {(int)option(argc, argv, "ex", 24), (int)option(argc, argv, "ey", 26),
                           (int)option(argc, argv, "ez", 30)};
  all = calloc((size_t)ranks, sizeof *all);
  for (int p = 0; p < ranks; p++) {
    place(&all[p], p, elements);
    all[p].random =
        (uint64_t)option(argc, argv, "seed", 0) * 0x2545F4914F6CDD1DU + (uint64_t)p * 0xD1342543DE82EF95U;
    next(&all[p].random);
    if (haloscope_overlap_create(&settings, all[p].items, MPI_COMM_SELF, &all[p].overlap) != MPI_SUCCESS) {
      fprintf(stderr, "ranks: %s\n", haloscope_overlap_error());
      exit(2);
    }
  }
}

/* The MatVecs are divided into SAMPLES equal parts. Returns a random MatVec of one part, which differs per
 * rank. */
static int sampled(int p, int sample, int matvecs) {
  const int64_t from = ((int64_t)sample * matvecs + SAMPLES - 1) / SAMPLES;
  const int64_t to = ((int64_t)(sample + 1) * matvecs + SAMPLES - 1) / SAMPLES;
  uint64_t state = (uint64_t)p * SAMPLES + (uint64_t)sample;
  return (int)(from + (int64_t)(next(&state) % (uint64_t)(to > from ? to - from : 1)));
}

/* 64-bit integers: ranks, MatVecs, kept ranks, samples, values. Doubles: the slowest rank's times; per rank
 * the final α, mean α, mean time, mean waits, items, mirrors, neighbours; the total time. Floats: kept ranks
 * × MatVecs × values; samples × ranks × 2. */
static void write(const char *path, int matvecs, int kept, const double *slowest, const float *values,
                  const float *samples) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) exit(2);
  const int64_t head[5] = {ranks, matvecs, kept, SAMPLES, KEPT_VALUES};
  fwrite(head, sizeof head, 1, file);
  fwrite(slowest, sizeof *slowest, (size_t)matvecs, file);
  double latest = 0;
  for (int p = 0; p < ranks; p++) {
    const struct rank *r = &all[p];
    const double n = matvecs, row[8] = {haloscope_overlap_alpha(r->overlap, 0),
                                        r->sum_alpha / n,
                                        r->sum_time / n,
                                        r->sum_input / n,
                                        r->sum_output / n,
                                        (double)r->items,
                                        (double)r->mirrors,
                                        r->lower_count + r->upper_count};
    fwrite(row, sizeof row, 1, file);
    if (r->begin > latest) latest = r->begin;
  }
  fwrite(&latest, sizeof latest, 1, file);
  fwrite(values, sizeof *values * KEPT_VALUES, (size_t)kept * (size_t)matvecs, file);
  fwrite(samples, sizeof *samples * 2, (size_t)SAMPLES * (size_t)ranks, file);
  if (fclose(file) != 0) exit(2);
}

int main(int argc, char **argv) {
  static struct scenario scenario;
  MPI_Init(&argc, &argv);
  if (argc < 3) {
    fputs("ranks LATENCIES OUTPUT name=value …\n", stderr);
    exit(2);
  }
  read_model(&scenario.model, argv[1]);
  grid[0] = (int)option(argc, argv, "px", 2);
  grid[1] = (int)option(argc, argv, "py", 1);
  grid[2] = (int)option(argc, argv, "pz", 1);
  ranks = grid[0] * grid[1] * grid[2];
  const int matvecs = (int)option(argc, argv, "matvecs", 100), multigrid = (int)option(argc, argv, "gmg", 0);
  const int wanted = (int)option(argc, argv, "kept", 128), kept = wanted < ranks ? wanted : ranks;
  settings = haloscope_overlap_defaults();
  settings.policy = (enum haloscope_overlap_policy)(int)option(argc, argv, "policy", 0);
  settings.theta = option(argc, argv, "theta", 0.5);
  settings.epsilon = option(argc, argv, "epsilon", 1e-4);
  settings.alpha = option(argc, argv, "alpha", 0.5);
  settings.phases = (int)option(argc, argv, "phases", 1);
  settings.consistent = consistent = (int)option(argc, argv, "consistent", 0);
  partners = (int)option(argc, argv, "partners", 0);
  /* The policy `regimes` has the true model of the contributions' latencies. */
  const struct model *m = &scenario.model;
  const struct haloscope_overlap_regimes regimes = {HALOSCOPE_OVERLAP_LOGNORMAL,
                                                    m->regimes,
                                                    m->start_of_regimes,
                                                    m->transition_of_regimes,
                                                    NULL,
                                                    NULL,
                                                    m->parameters};
  settings.regimes = &regimes;
  polls = settings.policy == HALOSCOPE_OVERLAP_TEST || settings.policy == HALOSCOPE_OVERLAP_ADAPTIVE;
  element = option(argc, argv, "element", 1.15e-7);
  poll_seconds = option(argc, argv, "poll", 3e-7);
  scenario.noise = option(argc, argv, "noise", 0);
  scenario.input_latency = option(argc, argv, "input", 2e-5);
  scenario.input_spread = option(argc, argv, "input_spread", 0);
  scenario.from = option(argc, argv, "event_from", 2);
  scenario.to = option(argc, argv, "event_to", 2);
  scenario.factor = option(argc, argv, "event_factor", 1);
  scenario.scale = option(argc, argv, "scale", 1);
  scenario.random = (uint64_t)option(argc, argv, "seed", 0) * 0x9E3779B97F4A7C15U + 1;
  make(argc, argv);
  double *slowest = calloc((size_t)matvecs, sizeof *slowest);
  float *values = calloc((size_t)kept * (size_t)matvecs * KEPT_VALUES, sizeof *values);
  float *samples = calloc((size_t)SAMPLES * (size_t)ranks * 2, sizeof *samples);
  for (int k = 0; k < matvecs; k++) {
    const int place = multigrid ? k % CYCLE : 0;
    draw(&scenario, k == 0 ? -1 : (double)k / matvecs);
    matvec(multigrid && settings.phases == PHASES ? cycle[place] : 0);
    const int sample = (int)((int64_t)k * SAMPLES / matvecs);
    for (int p = 0; p < ranks; p++) {
      const struct haloscope_overlap_times *t = &all[p].times;
      note(&all[p]);
      const double time = t->input_block + t->output_block;
      if (time > slowest[k]) slowest[k] = time;
      if (k != sampled(p, sample, matvecs)) continue;
      samples[((size_t)sample * (size_t)ranks + (size_t)p) * 2] = (float)t->input_block;
      samples[((size_t)sample * (size_t)ranks + (size_t)p) * 2 + 1] = (float)t->output_block;
    }
    for (int i = 0; i < kept; i++)
      keep(values + ((size_t)i * (size_t)matvecs + (size_t)k) * KEPT_VALUES, &all[(int64_t)i * ranks / kept],
           &scenario.model);
    advance(multigrid, place, option(argc, argv, "sum", 2e-5), option(argc, argv, "coarse", 0));
  }
  write(argv[2], matvecs, kept, slowest, values, samples);
  MPI_Finalize();
  return 0;
}
