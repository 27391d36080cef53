#include "hide/fem/operator/problem.hpp"

#include <cmath>
#include <numbers>

namespace haloscope::fem {

namespace {

double sine(double waves, double x) noexcept { return std::sin(waves * std::numbers::pi * x); }
double cosine(double waves, double x) noexcept { return std::cos(waves * std::numbers::pi * x); }
constexpr double square_of_pi = std::numbers::pi * std::numbers::pi;

} // namespace

Problem jump_problem(double jump) {
  const auto kappa = [jump](const Point &p) { return p[0] < 0.5 ? 1.0 : jump; };
  const auto shape = [](const Point &p) { return sine(2, p[0]) * sine(1, p[1]) * sine(1, p[2]); };
  return {{kappa, false},
          [shape](const Point &p) { return 6 * square_of_pi * shape(p); },
          [shape, kappa](const Point &p) { return shape(p) / kappa(p); }};
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
