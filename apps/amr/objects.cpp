#include "objects.hpp"

#include "../common/options.hpp"

#include <algorithm>
#include <cmath>

namespace amr {

bool Object::touches(const Point &low, const Point &high) const {
  const bool box = type < 2;
  double nearest = 0, farthest = 0; // distances of the box's points from the centre, in sizes of the object
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(size[axis] > 0)) return false;
    const double below = (low[axis] - centre[axis]) / size[axis];
    const double above = (high[axis] - centre[axis]) / size[axis];
    const double near = std::max({below, -above, 0.0}), far = std::max(-below, above);
    nearest = box ? std::max(nearest, near) : nearest + near * near;
    farthest = box ? std::max(farthest, far) : farthest + far * far;
  }
  const bool inside = farthest < 1, surface = type % 2 == 0;
  return nearest <= 1 && !(surface && inside);
}

void Object::advance() {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    centre[axis] += move[axis];
    size[axis] += growth[axis];
    if (bounce == 0) continue;
    const double edge = bounce == 2 ? std::max(size[axis], 0.0) : 0;
    if (centre[axis] - edge < 0) move[axis] = std::abs(move[axis]);
    if (centre[axis] + edge > 1) move[axis] = -std::abs(move[axis]);
  }
}

bool read_value(std::string_view text, std::vector<Object> &objects) {
  std::array<double, Object::words> number{};
  std::size_t words = 0;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(',', begin);
    if (words == number.size() || !apps::read_value(text.substr(begin, end - begin), number[words]) ||
        !std::isfinite(number[words]))
      return false;
    ++words;
  }
  const auto point = [&](std::size_t first) {
    return Point{number[first], number[first + 1], number[first + 2]};
  };
  const auto among = [](double value, int count) {
    return value >= 0 && value < count && value == std::floor(value);
  };
  if (words != number.size() || !among(number[0], 4) || !among(number[1], 3)) return false;
  objects.push_back(
      {static_cast<int>(number[0]), static_cast<int>(number[1]), point(2), point(5), point(8), point(11)});
  return true;
}

} // namespace amr
