#include "simulation.hpp"

#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <haloscope/region.hpp>

namespace amr {

namespace {

// A region whose seconds are added up.
template <typename Region> class Timed {
public:
  Timed(const char *name, double &seconds) : region_(name), seconds_(seconds), start_(MPI_Wtime()) {}
  ~Timed() { seconds_ += MPI_Wtime() - start_; }
  Timed(const Timed &) = delete;
  Timed &operator=(const Timed &) = delete;

private:
  Region region_;
  double &seconds_;
  double start_;
};
using Phase = Timed<haloscope::Region>;
using Communication = Timed<haloscope::CommRegion>;

// The same on all ranks of a job, since they run under the same environment.
ReceiveBuffers required(bool wanted) {
  const ReceiveBuffers found = wanted ? receive_buffers() : ReceiveBuffers{};
  if (wanted && !found)
    throw apps::UsageError("--null-buffers needs MPIX_Get_recv_buf, which this MPI has not: start with "
                           "'haloscope shm -- mpiexec ...'");
  return found;
}

} // namespace

Simulation::Simulation(const Parameters &p, apps::World world)
    : p_(p), mesh_(p_, world), halo_(mesh_.shape(), p.comm_vars, p.memory == "mpi", required(p.null_buffers)),
      stencil_(mesh_.shape()), rank_(world.rank), objects_(p.objects) {
  halo_.plan(mesh_.tree(), rank_);
}

void Simulation::balance() {
  const Communication phase("load_balance", seconds_.balance);
  moved_ += mesh_.balance();
}

void Simulation::refine(int levels) {
  const Phase phase("refine", seconds_.refinement);
  bool any = false;
  for (int level = 0; level < levels && mesh_.adapt(objects_); ++level) {
    any = true;
    if (p_.lb_opt == 2) balance();
  }
  if (!any) return;
  ++refinements_;
  if (p_.lb_opt == 1) balance();
  halo_.plan(mesh_.tree(), rank_);
}

void Simulation::check() {
  const haloscope::CommRegion region{"checksum"};
  sums_ = checksums(mesh_);
  if (first_sums_.empty()) first_sums_ = sums_;
  for (std::size_t v = 0; v < sums_.size(); ++v)
    drift_ = std::max(drift_, std::abs(sums_[v] / first_sums_[v] - 1));
}

void Simulation::stage() {
  for (int first = 0; first < p_.num_vars; first += p_.comm_vars) {
    const Variables group{first, std::min(p_.comm_vars, p_.num_vars - first)};
    {
      const Communication phase("comm", seconds_.communication);
      halo_.exchange(mesh_.blocks(), group);
    }
    const Phase phase("stencil", seconds_.stencil);
    for (Block &block : mesh_.blocks())
      if (!block.empty()) stencil_.apply(block, group.first, group.count);
  }
  if (p_.checksum_freq > 0 && ++stages_ % p_.checksum_freq == 0) check();
}

void Simulation::step() {
  const haloscope::Region region{"timestep"};
  for (int n = 0; n < p_.stages_per_ts; ++n) stage();
  for (Object &object : objects_) object.advance();
}

void Simulation::run() {
  check();
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  refine(p_.num_refine);
  for (int n = 1; n <= p_.num_tsteps; ++n) {
    step();
    if (p_.refine_freq > 0 && n % p_.refine_freq == 0 && p_.uniform_refine == 0) refine(p_.block_change);
  }
  seconds_.total = MPI_Wtime() - start;
  check();
}

} // namespace amr
