// What an operator is made of, and what it does at each step of an application.
#pragma once

#include "hide/fem/operator/channels.hpp"
#include "hide/fem/operator/mirrors.hpp"
#include "hide/fem/operator/operator.hpp"
#include "hide/fem/operator/units.hpp"

#include <memory>

namespace haloscope::fem {

struct Operator::Work {
  Work(const Forest &forest, const Nodes &nodes, const Coefficient &kappa, const OperatorSettings &settings);

  void run(const double *x, double *y, int phase);
  void run_with_ghosts(const double *x, double *y, int phase); // of a consistent one, x without ghosts
  void diagonal(double *result);

  // For the overlap library.
  void independent(std::size_t begin, std::size_t end);
  void dependent();
  void stage(haloscope_overlap_stage which);

  std::size_t owned, local;
  bool consistent;
  std::vector<std::uint8_t> masked;
  std::vector<std::int32_t> fixed;                 // owned nodes among them
  std::vector<double> corners, sizes, coefficient; // the plans read them
  Channels channels;
  std::unique_ptr<Mirrors> mirrors;
  std::unique_ptr<Plan> interior;
  std::unique_ptr<Units> units;
  std::unique_ptr<Overlap> overlap;
  Overlap::Times times{};
  std::vector<Overlap::Times> *history;

private:
  void prepare(const Cells &cells, std::span<const char> mirror, const Choices &choices);
  void add_received();
  void finish_result();

  const double *x_ = nullptr;
  double *y_ = nullptr;
  std::vector<double> x_with_ghosts_, y_with_ghosts_;
};

} // namespace haloscope::fem
