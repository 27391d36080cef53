#include "objects.hpp"

#include "../common/options.hpp"

#include <algorithm>
#include <cmath>

namespace amr {

bool Object::touches(const Point &low, const Point &high) const {
  const bool there = std::ranges::all_of(size, [](double half) { return half > 0; });
  return there && (type < 2 ? meets_box(low, high) : meets_spheroid(low, high));
}

bool Object::meets_box(const Point &low, const Point &high) const {
  bool inside = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double from = centre[axis] - size[axis], to = centre[axis] + size[axis];
    if (high[axis] <= from || low[axis] >= to) return false;
    inside = inside && low[axis] >= from && high[axis] <= to;
  }
  return solid() || !inside;
}

bool Object::meets_spheroid(const Point &low, const Point &high) const {
  double nearest = 0, farthest = 0; // squares of distances from the centre, in sizes of the object
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double below = (low[axis] - centre[axis]) / size[axis];
    const double above = (high[axis] - centre[axis]) / size[axis];
    const double near = std::max({below, -above, 0.0}), far = std::max(-below, above);
    nearest += near * near;
    farthest += far * far;
  }
  return nearest < 1 && (solid() || farthest > 1);
}

void Object::advance() {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double &at = centre[axis];
    at += move[axis];
    size[axis] += growth[axis];
    if (bounce == 0) continue;
    // How far what bounces is beyond the domain. A centre is mirrored, an edge is put back.
    const double edge = bounce == 2 ? size[axis] : 0, back = bounce == 2 ? 1 : 2;
    const double above = at + edge - 1, below = at - edge;
    if (above >= 0)
      at -= back * above;
    else if (below <= 0)
      at -= back * below;
    else
      continue;
    move[axis] = -move[axis];
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
