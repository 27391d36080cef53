#include "ordinates.hpp"

#include "quadrature.hpp"

namespace sweep {

Ordinates::Ordinates(const Parameters &p, const Medium &medium)
    : width_(p.width), sets_per_octant_(p.sets_per_octant()), directions_per_set_(p.directions_per_set()),
      groups_(p.groups), groups_per_set_(p.groups_per_set()) {
  const auto directions = product_quadrature(p.polar, p.azimuthal);
  for (const Direction &d : directions) {
    weight_.push_back(d.weight);
    for (std::size_t axis = 0; axis < 3; ++axis) streaming_[axis].push_back(2 * d.cosine[axis] / p.width);
  }
  const auto per_set = static_cast<std::size_t>(directions_per_set_);
  for (std::size_t first = 0; first < directions.size(); first += per_set)
    for (const double total : medium.total)
      for (std::size_t d = first; d < first + per_set; ++d)
        inverse_.push_back(1 / (total + streaming_[0][d] + streaming_[1][d] + streaming_[2][d]));
}

Coefficients Ordinates::coefficients(int direction_set, int group_set) const {
  const int set = direction_set % sets_per_octant_;
  const std::ptrdiff_t first = std::ptrdiff_t{set} * directions_per_set_;
  const std::ptrdiff_t group = std::ptrdiff_t{set} * groups_ + std::ptrdiff_t{group_set} * groups_per_set_;
  return {directions_per_set_,
          groups_per_set_,
          {streaming_[0].data() + first, streaming_[1].data() + first, streaming_[2].data() + first},
          weight_.data() + first,
          inverse_.data() + group * directions_per_set_};
}

double Ordinates::current(const std::vector<double> &plane, std::size_t axis, const Coefficients &c) const {
  const auto directions = static_cast<std::size_t>(c.directions);
  std::vector<double> sums(directions); // over faces and groups
  for (std::size_t first = 0; first < plane.size(); first += directions)
    for (std::size_t d = 0; d < directions; ++d) sums[d] += plane[first + d];
  double carried = 0;
  for (std::size_t d = 0; d < directions; ++d) carried += c.weight[d] * c.streaming[axis][d] * sums[d];
  return carried * (width_ / 2) * width_ * width_; // streaming is 2 |cosine| / width
}

} // namespace sweep
