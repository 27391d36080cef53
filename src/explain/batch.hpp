// The input of the kernels: many sequences, and one chain of hidden states for all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace haloscope::explain {

// The most states: more are of no use for timings, and a thread keeps arrays of this size on its stack.
constexpr int most_states = 32;
// The logarithm of zero: sums of it stay finite.
constexpr double impossible = -1e100;
// Lanes of the widest instruction set.
constexpr int most_lanes = 8;

// Sequence s is values[begins[s]] to values[begins[s] + lengths[s]], or the same number of rows of log
// densities.
struct Batch {
  const double *values;
  const double *log_density; // (points, states), or null: the densities are Gaussian
  const int64_t *begins;
  const int64_t *lengths;
  int64_t sequences;
  int states;
  const double *start;      // (states)
  const double *transition; // (states, states)
  const double *means;      // (states), Gaussian only
  const double *deviations;
};

// Expected counts of a group of sequences. First and second moments are about the state's old mean, so
// that nothing cancels where times are long and vary little.
struct Counts {
  double start[most_states];
  double transition[most_states][most_states];
  double weight[most_states];
  double first[most_states];
  double second[most_states];
};

// Up to most_lanes sequences of about one length, side by side in the lanes of vectors.
struct Group {
  int64_t sequence[most_lanes]; // unused lanes follow the first one, and count nothing
  int used;
};

// A thread's memory for a group. `Kernels::workspace` has the sizes.
struct Workspace {
  double *history;
  double *checkpoints;
};

struct Tape;
struct Replay;

// One instruction set's kernels. `counts` and `posterior` may be null.
struct Kernels {
  const char *name;
  int lanes;
  // Writes log_likelihood[sequence] and posterior rows; returns a bit for each lane that underflowed, which
  // then counts nothing.
  unsigned (*expectation)(const Batch &, const Group &, Workspace, double *log_likelihood, Counts *,
                          double *posterior);
  // Writes states[begin + t].
  void (*viterbi)(const Batch &, const Group &, void *pointers, uint8_t *states);
  // Plays all of a tape. explain/tape.hpp
  void (*replay)(const Tape &, const Replay &);
};

// The kernels of an instruction set, by its index in the list of sets that this processor has.
const Kernels &kernels_of(int set);

// Instants between two checkpoints: a history of this many stays near the processor.
constexpr int64_t block_length = 16384;

// Sizes in doubles, and in bytes for Viterbi's back-pointers, for sequences of `length` instants.
inline int64_t history_size(const Batch &batch, int64_t length, int lanes) {
  return ((length < block_length ? length : block_length) * 2 + 1) * batch.states * lanes;
}
inline int64_t checkpoints_size(const Batch &batch, int64_t length, int lanes) {
  return (length / block_length + 1) * batch.states * lanes;
}
inline int64_t pointers_size(const Batch &batch, int64_t length, int lanes) {
  return length * lanes * batch.states;
}

// The same for one sequence in logarithms, for what the scaled kernels cannot represent.
void expectation_in_logarithms(const Batch &, int64_t sequence, double *log_likelihood, Counts *,
                               double *posterior);

} // namespace haloscope::explain
