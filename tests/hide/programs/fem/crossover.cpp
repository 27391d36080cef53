// What the model of conjugate gradients says of machines that are made up: reads the seconds of a product, of
// an entry that goes by (with few vectors, with many), of a multiplication, of an Allreduce, and the rows;
// prints the times of an iteration and the crossover of the pipelined method and of one of 4 steps.
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
