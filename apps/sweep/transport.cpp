#include "transport.hpp"

#include <algorithm>
#include <haloscope/region.hpp>
#include <limits>
#include <numbers>

namespace sweep {

namespace {

constexpr double sphere = 4 * std::numbers::pi;

template <std::size_t size> std::array<double, size> sum_over_ranks(std::array<double, size> local) {
  std::array<double, size> global;
  MPI_Allreduce(local.data(), global.data(), static_cast<int>(size), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return global;
}

} // namespace

Transport::Transport(const Parameters &p, const Domain &domain)
    : p_(p), domain_(domain), medium_(make_medium(p.groups, p.sigt, p.sigs)), sweeper_(p, domain, medium_),
      in_source_(domain.size()), flux_(domain.size() * static_cast<std::size_t>(p.groups)),
      emission_(flux_.size()) {
  set_source();
}

void Transport::set_source() {
  std::size_t zone = 0;
  for (int k = 0; k < domain_.zones[2]; ++k)
    for (int j = 0; j < domain_.zones[1]; ++j)
      for (int i = 0; i < domain_.zones[0]; ++i) {
        const Int3 at{domain_.origin[0] + i, domain_.origin[1] + j, domain_.origin[2] + k};
        const bool corner = 2 * at[0] < p_.zones[0] && 2 * at[1] < p_.zones[1] && 2 * at[2] < p_.zones[2];
        in_source_[zone++] = p_.source == "all" || corner ? 1 : 0;
      }
}

std::size_t Transport::index(int group, std::size_t zone) const {
  const auto groups = static_cast<std::size_t>(p_.groups_per_set());
  const auto g = static_cast<std::size_t>(group);
  return (g / groups * domain_.size() + zone) * groups + g % groups;
}

// The emission that the present flux gives rise to.
void Transport::scatter() {
  for (int g = 0; g < p_.groups; ++g) {
    const double within = medium_.within[static_cast<std::size_t>(g)];
    const double down = medium_.down[static_cast<std::size_t>(g)];
    for (std::size_t zone = 0; zone < domain_.size(); ++zone) {
      double emitted = in_source_[zone] + within * flux_[index(g, zone)];
      if (g > 0) emitted += down * flux_[index(g - 1, zone)];
      emission_[index(g, zone)] = emitted / sphere;
    }
  }
}

double Transport::sum(const std::vector<double> &a_group, const std::vector<double> &field) const {
  double total = 0;
  for (int g = 0; g < p_.groups; ++g) {
    double part = 0;
    for (std::size_t zone = 0; zone < domain_.size(); ++zone) part += field[index(g, zone)];
    total += part * a_group[static_cast<std::size_t>(g)];
  }
  return total * p_.width * p_.width * p_.width;
}

void Transport::iterate() {
  const std::vector<double> all(static_cast<std::size_t>(p_.groups), sphere);
  const double before = sum(all, emission_);
  std::ranges::fill(flux_, 0.0);
  const double leakage = sweeper_.run(emission_, flux_);
  scatter();

  const haloscope::CommRegion region{"balance"};
  const auto zones = std::count(in_source_.begin(), in_source_.end(), 1);
  const double source = static_cast<double>(zones) * p_.groups * p_.width * p_.width * p_.width;
  const auto total =
      sum_over_ranks<4>({source, sum(medium_.absorption, flux_), leakage, sum(all, emission_) - before});
  balance_ = {total[0], total[1], total[2], total[3]};
}

Balance Transport::solve() {
  const haloscope::Region region{"solve"};
  std::ranges::fill(flux_, 0.0);
  scatter();
  for (int iteration = 0; iteration < p_.niter; ++iteration) iterate();
  return balance_;
}

std::array<double, 2> Transport::range() const {
  std::array<double, 2> local{std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::infinity()};
  for (int g = 0; g < p_.groups; ++g)
    for (std::size_t zone = 0; zone < domain_.size(); ++zone) {
      const double ratio = flux_[index(g, zone)] / medium_.equilibrium[static_cast<std::size_t>(g)];
      local = {std::min(local[0], ratio), std::min(local[1], -ratio)};
    }
  std::array<double, 2> global;
  MPI_Allreduce(local.data(), global.data(), 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  return {global[0], -global[1]};
}

std::array<double, 4> Transport::moments(int group) const {
  std::array<double, 4> local{};
  const auto nx = static_cast<std::size_t>(domain_.zones[0]);
  const auto ny = static_cast<std::size_t>(domain_.zones[1]);
  for (std::size_t zone = 0; zone < domain_.size(); ++zone) {
    const std::array<std::size_t, 3> at{zone % nx, zone / nx % ny, zone / nx / ny};
    const double amount = flux_[index(group, zone)] * p_.width * p_.width * p_.width;
    local[0] += amount;
    for (std::size_t axis = 0; axis < 3; ++axis)
      local[axis + 1] += amount * (domain_.origin[axis] + static_cast<double>(at[axis]) + 0.5) * p_.width;
  }
  return sum_over_ranks<4>(local);
}

} // namespace sweep
