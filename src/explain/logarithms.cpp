// Forward and backward in logarithms, a state at a time: slow, and exact where scaled numbers underflow,
// for example where a transition of probability 0 must have happened.
#include "explain/batch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace haloscope::explain {

namespace {

double logarithm(double x) { return x > 0 ? std::log(x) : impossible; }

double log_density(const Batch &batch, int64_t place, int state) {
  if (batch.log_density != nullptr)
    return std::max(batch.log_density[place * batch.states + state], impossible);
  const double d = (batch.values[place] - batch.means[state]) / batch.deviations[state];
  return std::max(-0.5 * d * d - 0.91893853320467274178 - std::log(batch.deviations[state]), impossible);
}

double log_sum(const std::vector<double> &terms) {
  const double top = *std::ranges::max_element(terms);
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - top);
  return top + std::log(sum);
}

class Logarithms {
public:
  Logarithms(const Batch &of, int64_t sequence)
      : batch{of}, begin{of.begins[sequence]}, length{of.lengths[sequence]}, states{of.states},
        alpha(static_cast<size_t>(length * states)), terms(static_cast<size_t>(states)),
        transition(static_cast<size_t>(states) * static_cast<size_t>(states)) {
    for (size_t i = 0; i < transition.size(); ++i) transition[i] = logarithm(batch.transition[i]);
  }

  double forward() {
    for (int64_t t = 0; t < length; ++t)
      for (int j = 0; j < states; ++j) at(t, j) = reached(t, j) + log_density(batch, begin + t, j);
    for (int j = 0; j < states; ++j) terms[static_cast<size_t>(j)] = at(length - 1, j);
    return log_sum(terms);
  }

  void backward(double log_likelihood, Counts *counts, double *posterior) {
    std::vector<double> beta(terms.size(), 0.0), ahead(terms.size());
    for (int64_t t = length - 1; t >= 0; --t) {
      for (int j = 0; j < states; ++j)
        count(t, j, std::exp(at(t, j) + beta[j] - log_likelihood), counts, posterior);
      if (t == 0) break;
      for (int j = 0; j < states; ++j) ahead[j] = beta[j] + log_density(batch, begin + t, j);
      for (int i = 0; i < states; ++i) {
        for (int j = 0; j < states; ++j) {
          terms[j] = transition[i * states + j] + ahead[j];
          if (counts) counts->transition[i][j] += std::exp(at(t - 1, i) + terms[j] - log_likelihood);
        }
        beta[i] = log_sum(terms);
      }
    }
  }

private:
  const Batch &batch;
  const int64_t begin, length;
  const int states;
  std::vector<double> alpha, terms, transition;

  double &at(int64_t t, int j) { return alpha[static_cast<size_t>(t * states + j)]; }

  double reached(int64_t t, int j) {
    if (t == 0) return logarithm(batch.start[j]);
    for (int i = 0; i < states; ++i) terms[i] = at(t - 1, i) + transition[i * states + j];
    return log_sum(terms);
  }

  void count(int64_t t, int j, double gamma, Counts *counts, double *posterior) const {
    if (posterior) posterior[(begin + t) * states + j] = gamma;
    if (!counts) return;
    if (t == 0) counts->start[j] += gamma;
    if (batch.log_density != nullptr) return;
    const double d = batch.values[begin + t] - batch.means[j];
    counts->weight[j] += gamma;
    counts->first[j] += gamma * d;
    counts->second[j] += gamma * d * d;
  }
};

} // namespace

void expectation_in_logarithms(const Batch &batch, int64_t sequence, double *log_likelihood, Counts *counts,
                               double *posterior) {
  Logarithms logarithms{batch, sequence};
  const double sum = logarithms.forward();
  log_likelihood[sequence] = sum;
  if (counts || posterior) logarithms.backward(sum, counts, posterior);
}

} // namespace haloscope::explain
