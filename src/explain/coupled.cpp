// Forward-backward of ranks whose transitions vary in time, the same for all ranks. Arrays are instances ×
// ranks × states; docs/explanation/regimes.md, "The whole machine".
#include "explain/public.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace haloscope::explain {

namespace {

constexpr int most_states = 32;

struct Ranks {
  int64_t instances, ranks;
  int states;
  const int64_t *lengths;
  const double *start, *transitions;

  int64_t row(int64_t instance, int64_t rank) const { return (instance * ranks + rank) * states; }
  const double *into(int64_t instance) const { return transitions + instance * states * states; }
};

// Turns log densities into densities over the scale, and writes the scaled forward probabilities.
double forward(const Ranks &r, int64_t instance, int64_t rank, double *density, double *posterior) {
  const int64_t here = r.row(instance, rank);
  double *const own = density + here;
  const double top = *std::max_element(own, own + r.states);
  double scale = 0;
  for (int j = 0; j < r.states; ++j) {
    double ahead = 0;
    if (instance == 0) {
      ahead = r.start[j];
    } else {
      const double *const before = posterior + r.row(instance - 1, rank);
      for (int i = 0; i < r.states; ++i) ahead += before[i] * r.into(instance)[i * r.states + j];
    }
    own[j] = std::exp(own[j] - top);
    posterior[here + j] = ahead * own[j];
    scale += posterior[here + j];
  }
  for (int j = 0; j < r.states; ++j) {
    posterior[here + j] /= scale;
    own[j] /= scale;
  }
  return std::log(scale) + top;
}

// Makes the forward probabilities of an instance posterior ones; moves `after` to the instance before.
void backward(const Ranks &r, int64_t instance, int64_t rank, const double *density, double *posterior,
              double *pairs, double *after) {
  const int64_t here = r.row(instance, rank);
  double weighted[most_states];
  for (int j = 0; j < r.states; ++j) {
    weighted[j] = density[here + j] * after[j];
    posterior[here + j] *= after[j];
  }
  if (instance == 0) return;
  const double *const before = posterior + r.row(instance - 1, rank), *const into = r.into(instance);
  for (int i = 0; i < r.states; ++i) {
    after[i] = 0;
    for (int j = 0; j < r.states; ++j) {
      const double step = into[i * r.states + j] * weighted[j];
      after[i] += step;
      pairs[(instance * r.states + i) * r.states + j] += before[i] * step;
    }
  }
}

} // namespace

// `density` comes as log densities and is written over; `posterior` and `pairs` come as zeros, `after`,
// ranks × states, as ones. Returns the log likelihood.
HALOSCOPE_PUBLIC double haloscope_coupled(int64_t instances, int64_t ranks, int states,
                                          const int64_t *lengths, const double *start,
                                          const double *transitions, double *density, double *posterior,
                                          double *pairs, double *after) {
  const Ranks r{instances, ranks, states, lengths, start, transitions};
  double log_likelihood = 0;
  for (int64_t t = 0; t < instances; ++t)
    for (int64_t p = 0; p < ranks; ++p)
      if (t < lengths[p]) log_likelihood += forward(r, t, p, density, posterior);
  for (int64_t t = instances - 1; t >= 0; --t)
    for (int64_t p = 0; p < ranks; ++p)
      if (t < lengths[p]) backward(r, t, p, density, posterior, pairs, after + p * states);
  return log_likelihood;
}

} // namespace haloscope::explain
