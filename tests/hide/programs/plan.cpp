// Reads plans, one per line, and draws from their models. Prints for each plan whether it is valid.
#include "predict/latencies/plan.hpp"

#include <exception>
#include <iostream>

using namespace haloscope::latencies;

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const Plan plan = parse(line);
      double sum = 0;
      for (const Model &model : plan.links) {
        Source source{model, plan.seed, 0, 0};
        for (std::uint64_t i = 0; i < 20 && !model.is_none(); i++) {
          source.advance(i);
          sum += source.draw();
        }
      }
      std::cout << (sum >= 0 ? "plan\n" : "negative\n");
    } catch (const std::exception &error) {
      std::cout << "wrong " << error.what() << '\n';
    }
  }
}
