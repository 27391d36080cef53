// Objects that move through the domain, the unit cube. Blocks refine near them.
#ifndef APPS_AMR_OBJECTS_HPP
#define APPS_AMR_OBJECTS_HPP

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace amr {

using Point = std::array<double, 3>;

// Types as miniAMR numbers them: 0, 1 a box, 2, 3 a spheroid; the even ones are surfaces, the odd ones solid.
struct Object {
  static constexpr int words = 14; // on the command line, in this order
  int type = 0, bounce = 0;
  Point centre{}, move{}, size{}, growth{};

  // Does the object, or its surface, meet the box between two corners? Where sides only touch, it does not.
  bool touches(const Point &low, const Point &high) const;
  // One time step. It may turn round where its centre (bounce 1) or its edge (bounce 2) leaves the domain.
  void advance();

private:
  bool solid() const { return type % 2 != 0; }
  bool meets_box(const Point &low, const Point &high) const;
  bool meets_spheroid(const Point &low, const Point &high) const;
};

// Appends the object that `words` numbers with commas between them describe.
bool read_value(std::string_view text, std::vector<Object> &objects);
inline std::string show_value(const std::vector<Object> &objects) {
  return objects.empty() ? "none" : std::to_string(objects.size());
}

} // namespace amr

#endif
