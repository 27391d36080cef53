// Predictions of the model of conjugate gradients for synthetic machines. Reads the seconds of a product, of
// a streamed entry (with few and with many vectors), of a multiplication and of an Allreduce, and the rows.
// Prints the times of an iteration and the crossover, for the pipelined and the 4-step method.
#include "fem/solve/crossover.hpp"

#include <cstdio>
#include <iostream>

int main() {
  using namespace haloscope::fem;
  Costs costs;
  while (std::cin >> costs.matvec >> costs.stream >> costs.wide >> costs.product >> costs.allreduce >>
         costs.rows)
    for (const Prediction &said : {predicted_pipelined(costs, true), predicted_s_step(costs, 4, true)})
      std::printf("%.12g %.12g %.12g\n", said.plain, said.other, said.crossover);
  return 0;
}
