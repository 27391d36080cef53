// The kernels of one instruction set: compiled once for each, with HALOSCOPE_SET and HALOSCOPE_LANES.
#include "explain/forward_backward.hpp"
#include "explain/viterbi.hpp"

namespace haloscope::explain::HALOSCOPE_SET {

namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Viterbi stores eight states as one word");

template <int STATES, template <int> class Density>
unsigned expect(const Batch &batch, const Group &group, Workspace space, double *log_likelihood,
                Counts *counts, double *posterior) {
  return ForwardBackward<STATES, Density>{batch, group, space}.run(log_likelihood, counts, posterior);
}

template <int STATES, template <int> class Density>
void decode(const Batch &batch, const Group &group, void *pointers, uint8_t *states) {
  Viterbi<STATES, Density>{batch, group, pointers}.run(states);
}

// Few states have loops of their own.
template <template <int> class Density> decltype(&expect<0, Density>) expectation_of(int states) {
  switch (states) {
  case 2:
    return expect<2, Density>;
  case 3:
    return expect<3, Density>;
  case 4:
    return expect<4, Density>;
  default:
    return expect<0, Density>;
  }
}

template <template <int> class Density> decltype(&decode<0, Density>) viterbi_of(int states) {
  switch (states) {
  case 2:
    return decode<2, Density>;
  case 3:
    return decode<3, Density>;
  case 4:
    return decode<4, Density>;
  default:
    return decode<0, Density>;
  }
}

unsigned expectation(const Batch &batch, const Group &group, Workspace space, double *log_likelihood,
                     Counts *counts, double *posterior) {
  const auto function =
      batch.log_density ? expectation_of<Given>(batch.states) : expectation_of<Gaussian>(batch.states);
  return function(batch, group, space, log_likelihood, counts, posterior);
}

void viterbi(const Batch &batch, const Group &group, void *pointers, uint8_t *states) {
  const auto function =
      batch.log_density ? viterbi_of<Given>(batch.states) : viterbi_of<Gaussian>(batch.states);
  function(batch, group, pointers, states);
}

} // namespace

extern const Kernels KERNELS;
const Kernels KERNELS{HALOSCOPE_NAME, LANES, expectation, viterbi};

} // namespace haloscope::explain::HALOSCOPE_SET
