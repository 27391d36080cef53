#include "samples.hpp"

namespace hydro {

namespace {

// The fields at the points of a batch's zones.
class BatchFields {
public:
  explicit BatchFields(const Discretization &d)
      : d_(d), points_(tensor_size(d.points())), kinematic_(d.kinematic_values, d.kinematic_slopes),
        thermodynamic_(d.thermodynamic_values), values_(tensor_size(d.kinematic_order + 1)),
        energy_(points_) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      places_[axis].resize(points_);
      velocities_[axis].resize(points_);
      slopes_[axis].resize(3 * points_);
    }
  }

  void read(int batch, const State &state) {
    batch_ = batch;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      d_.partition.gather(batch, state.velocity[axis].data(), values_.data());
      kinematic_.interpolate(values_.data(), velocities_[axis].data());
      d_.partition.gather(batch, state.position[axis].data(), values_.data());
      kinematic_.interpolate(values_.data(), places_[axis].data());
      kinematic_.gradient(values_.data(), slopes_[axis].data());
    }
    const auto at = static_cast<std::size_t>(batch);
    thermodynamic_.interpolate(state.energy.data() + at * tensor_size(d_.energies()), energy_.data());
    mass_ = d_.mass.data() + at * points_;
  }

  Sample sample(std::size_t q) const {
    Matrix3 jacobian{};
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t g = 0; g < 3; ++g) jacobian[row][g] = slopes_[row][g * points_ + q];
    const int n = d_.points(), at = static_cast<int>(q / lanes);
    const double weight = d_.weight(at % n, at / n % n, at / n / n);
    const auto zone = static_cast<std::size_t>(batch_) * lanes + q % lanes;
    const double density = mass_[q] / (determinant(jacobian) * weight);
    return {{places_[0][q], places_[1][q], places_[2][q]},
            {velocities_[0][q], velocities_[1][q], velocities_[2][q]},
            density,
            (d_.materials[zone].gamma - 1) * density * energy_[q],
            mass_[q]};
  }

private:
  const Discretization &d_;
  int batch_ = 0;
  std::size_t points_;
  TensorProduct kinematic_, thermodynamic_;
  Vector values_, energy_;
  std::array<Vector, 3> places_, velocities_, slopes_;
  const double *mass_ = nullptr;
};

} // namespace

std::vector<Sample> samples(const Discretization &d, const State &state) {
  std::vector<Sample> found;
  BatchFields fields(d);
  for (int batch = 0; batch < d.partition.batches(); ++batch) {
    fields.read(batch, state);
    for (std::size_t q = 0; q < tensor_size(d.points()); ++q)
      if (static_cast<int>(q % lanes) < d.partition.used(batch)) found.push_back(fields.sample(q));
  }
  return found;
}

} // namespace hydro
