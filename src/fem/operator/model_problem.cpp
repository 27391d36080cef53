#include "fem/operator/model_problem.hpp"
#include "fem/mesh/communicator.hpp"
#include "fem/operator/plain_quadrature.hpp"

#include <cmath>
#include <numbers>
#include <string>

namespace haloscope::fem {

namespace {

std::string wrong(double value, const Point &at) {
  const auto coordinate = [&](std::size_t d) { return std::to_string(at[d]); };
  return "coefficient: is " + std::to_string(value) + " at (" + coordinate(0) + ", " + coordinate(1) + ", " +
         coordinate(2) + "): it must be positive and finite";
}

} // namespace

std::vector<double> sampled(const Coefficient &coefficient, const Forest &forest, const Geometry &geometry,
                            int degree) {
  const Tabulated table(degree, coefficient.pointwise ? 0 : 1);
  const auto points = static_cast<std::size_t>(table.count) * static_cast<std::size_t>(table.count) *
                      static_cast<std::size_t>(table.count);
  std::vector<double> values;
  values.reserve(forest.elements() * points);
  std::string message;
  for (std::size_t element = 0; element < forest.elements(); element++) {
    for (std::size_t q = 0; q < points; q++) {
      const Point at = geometry.point(element, quadrature_point(table, q));
      values.push_back(coefficient.value(at));
      const bool fine = values.back() > 0 && std::isfinite(values.back());
      if (!fine && message.empty()) message = wrong(values.back(), at);
    }
  }
  agree(forest.communicator(), message);
  return values;
}

namespace {

double sine(double waves, double x) noexcept { return std::sin(waves * std::numbers::pi * x); }
double cosine(double waves, double x) noexcept { return std::cos(waves * std::numbers::pi * x); }
constexpr double square_of_pi = std::numbers::pi * std::numbers::pi;

// e^(growth x) sin(waves π x). Without the growth, products of such waves are eigenvectors of the discrete
// operators on uniform meshes, and conjugate gradients are done in one iteration.
struct Wave {
  double growth, waves;
  [[nodiscard]] double value(double x) const noexcept { return std::exp(growth * x) * sine(waves, x); }
  [[nodiscard]] double bend(double x) const noexcept { // the second derivative
    const double turn = waves * std::numbers::pi;
    return std::exp(growth * x) *
           ((growth * growth - turn * turn) * sine(waves, x) + 2 * growth * turn * cosine(waves, x));
  }
};
constexpr Wave wave_x{0.5, 2}, wave_y{-0.5, 1}, wave_z{-1, 1};

} // namespace

Problem jump_problem(double jump) {
  const auto kappa = [jump](const Point &p) { return p[0] < 0.5 ? 1.0 : jump; };
  const auto load = [](const Point &p) {
    const double x = wave_x.value(p[0]), y = wave_y.value(p[1]), z = wave_z.value(p[2]);
    return -(wave_x.bend(p[0]) * y * z + x * wave_y.bend(p[1]) * z + x * y * wave_z.bend(p[2]));
  };
  const auto solution = [kappa](const Point &p) {
    return wave_x.value(p[0]) * wave_y.value(p[1]) * wave_z.value(p[2]) / kappa(p);
  };
  return {{kappa, false}, load, solution};
}

Problem smooth_problem() {
  const auto kappa = [](const Point &p) { return 1 + 0.5 * sine(2, p[0]) * cosine(1, p[1]); };
  const auto solution = [](const Point &p) { return sine(1, p[0]) * sine(1, p[1]) * sine(1, p[2]); };
  // −κ Δu − ∇κ · ∇u
  const auto load = [kappa, solution](const Point &p) {
    const double along_x = cosine(2, p[0]) * cosine(1, p[1]) * cosine(1, p[0]) * sine(1, p[1]);
    const double along_y = -0.5 * sine(2, p[0]) * sine(1, p[1]) * sine(1, p[0]) * cosine(1, p[1]);
    return square_of_pi * (3 * kappa(p) * solution(p) - (along_x + along_y) * sine(1, p[2]));
  };
  return {{kappa, true}, load, solution};
}

std::function<Point(Point)> deformation(double amplitude) {
  return [amplitude](Point p) {
    const double inside = sine(1, p[1]) * sine(1, p[2]);
    return Point{p[0] + amplitude * sine(2, p[0]) * inside,
                 p[1] + amplitude * sine(1, p[0]) * sine(2, p[1]) * sine(1, p[2]),
                 p[2] + amplitude * sine(1, p[0]) * sine(1, p[1]) * sine(2, p[2])};
  };
}

} // namespace haloscope::fem
