// Source iteration: sweep, scatter, repeat. Only the scalar flux and the emission that it gives rise to
// are kept, never the angular flux.
#ifndef APPS_SWEEP_TRANSPORT_HPP
#define APPS_SWEEP_TRANSPORT_HPP

#include "sweeper.hpp"

namespace sweep {

// Particles a unit of time, over all ranks and groups, after the last sweep.
struct Balance {
  double source = 0; // what the fixed source makes
  double absorption = 0;
  double leakage = 0;     // out through the boundary, less in
  double unscattered = 0; // what that sweep's flux scatters beyond what had been scattered into it

  // The balance error of a sweep, which is only rounding.
  double lost() const { return source - absorption - leakage - unscattered; }
};

class Transport {
public:
  Transport(const Parameters &p, const Domain &domain);

  // The balance, after `niter` iterations from a flux of nothing.
  Balance solve();

  // Lowest and highest ratio of the flux to an infinite medium's, over all ranks.
  std::array<double, 2> range() const;

  // Of a group, over all ranks: the integral of the flux, and of the flux times x, y and z.
  std::array<double, 4> moments(int group) const;

private:
  std::size_t index(int group, std::size_t zone) const;
  void set_source();
  void iterate();
  void scatter();
  double sum(const std::vector<double> &a_group, const std::vector<double> &field) const;

  const Parameters &p_;
  const Domain &domain_;
  Medium medium_;
  Sweeper sweeper_;
  std::vector<char> in_source_;         // a zone
  std::vector<double> flux_, emission_; // group set × zone × group of the set
  Balance balance_;
};

} // namespace sweep

#endif
