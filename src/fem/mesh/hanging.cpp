#include "fem/mesh/hanging.hpp"

#include "fem/kernels/basis.hpp"

#include <cstdlib>

namespace haloscope::fem {

Hanging::Hanging(std::uint16_t code) noexcept : child(code & 7U) {
  for (unsigned i = 0; i < 3; i++) {
    face.at(i) = (code >> (3 + i) & 1U) != 0;
    edge.at(i) = (code >> (6 + i) & 1U) != 0;
  }
}

bool Hanging::line(int direction, std::array<int, 3> at, int degree) const noexcept {
  // On the element's sides that touch the parent's corner, but for the line's own direction.
  std::array<bool, 3> touches{};
  for (unsigned i = 0; i < 3; i++) touches.at(i) = at.at(i) == ((child >> i & 1U) != 0 ? degree : 0);
  const auto d = static_cast<unsigned>(direction);
  const unsigned a = (d + 1) % 3, b = (d + 2) % 3;
  return (touches.at(a) && face.at(a)) || (touches.at(b) && face.at(b)) ||
         (touches.at(a) && touches.at(b) && edge.at(d));
}

bool Hanging::point(std::array<int, 3> at, int degree) const noexcept {
  return line(0, at, degree) || line(1, at, degree) || line(2, at, degree);
}

Constraint::Constraint(int degree) : degree_(degree) {
  const std::vector<double> points = lobatto_points(degree);
  for (int which = 0; which < 2; which++)
    for (const double point : points) {
      const std::vector<double> row = lagrange(points, (point + which) / 2);
      halves_.at(static_cast<std::size_t>(which))
          .insert(halves_.at(static_cast<std::size_t>(which)).end(), row.begin(), row.end());
    }
}

namespace {

// values[first + i stride] for all i, multiplied by a matrix or its transpose.
void multiply(const std::vector<double> &matrix, bool transposed, std::span<double> values, std::size_t first,
              std::size_t stride, std::size_t count) {
  std::array<double, 9> old{};
  for (std::size_t i = 0; i < count; i++) old.at(i) = values[first + i * stride];
  for (std::size_t i = 0; i < count; i++) {
    double sum = 0;
    for (std::size_t j = 0; j < count; j++)
      sum += (transposed ? matrix[j * count + i] : matrix[i * count + j]) * old.at(j);
    values[first + i * stride] = sum;
  }
}

} // namespace

void Constraint::run(std::uint16_t code, std::span<double> values, bool transposed) const {
  const Hanging hanging(code);
  const auto n = static_cast<std::size_t>(degree_) + 1;
  const std::array<std::size_t, 3> strides{1, n, n * n};
  for (unsigned step = 0; step < 3; step++) {
    const unsigned d = transposed ? 2 - step : step;
    const unsigned a = (d + 1) % 3, b = (d + 2) % 3;
    const std::vector<double> &half = halves_.at(hanging.child >> d & 1U);
    for (int i = 0; i <= degree_; i++)
      for (int j = 0; j <= degree_; j++) {
        std::array<int, 3> at{};
        at.at(a) = i, at.at(b) = j;
        if (!hanging.line(static_cast<int>(d), at, degree_)) continue;
        const std::size_t first =
            static_cast<std::size_t>(i) * strides.at(a) + static_cast<std::size_t>(j) * strides.at(b);
        multiply(half, transposed, values, first, strides.at(d), n);
      }
  }
}

void Constraint::apply(std::uint16_t code, std::span<double> values) const {
  if (code != 0) run(code, values, false);
}

void Constraint::transpose(std::uint16_t code, std::span<double> values) const {
  if (code != 0) run(code, values, true);
}

} // namespace haloscope::fem
