// One pass of all particles through the grid: a task for each set of zones, directions and groups, which
// can start when the fluxes on its upwind faces are there. Tasks of all octants are in flight at once
// (Koch, Baker and Alcouffe's pipelining), so that ranks in the middle of the grid need not wait long.
#ifndef APPS_SWEEP_SWEEPER_HPP
#define APPS_SWEEP_SWEEPER_HPP

#include "../common/mpi.hpp"
#include "domain.hpp"
#include "ordinates.hpp"

#include <deque>

namespace sweep {

class Sweeper {
public:
  Sweeper(const Parameters &p, const Domain &domain, const Medium &medium);

  // Adds to `flux` the scalar flux that `emission` (a unit of volume and solid angle) gives rise to.
  // Both are group set × zone × group of the set. Returns what left through this rank's part of the
  // boundary, less what came in. Tasks run in the order in which messages come: sums differ in rounding.
  double run(const std::vector<double> &emission, std::vector<double> &flux);

private:
  // The neighbour beyond a block's face, and its task with the same directions and groups.
  struct Beyond {
    enum { outside, here, another_rank } where;
    int rank, task;
  };
  struct Task {
    int block, direction_set, group_set;
    std::array<Beyond, 3> upwind, downwind;
    std::array<std::vector<double>, 3> planes; // as sweep_zones takes and leaves them
    int waiting = 0;                           // upwind faces whose flux has not arrived
  };

  void add_task(int block, int direction_set, int group_set);
  Beyond beyond(const Task &task, std::size_t axis, int step) const;
  Task &task(int number) { return tasks_[static_cast<std::size_t>(number)]; }

  void start(int number);
  void receive(int number, std::size_t axis);
  void fill_from_boundary(Task &task, std::size_t axis);
  void wait_for_some();
  void arrived(int number);
  void sweep_task(Task &task, const std::vector<double> &emission, std::vector<double> &flux);
  void hand_on(Task &task, std::size_t axis);

  const Domain &domain_;
  Ordinates ordinates_;
  int direction_sets_, group_sets_;
  bool vacuum_;
  std::vector<double> inflow_; // otherwise: angular flux that the boundary sends in, a group

  std::vector<Task> tasks_;
  std::deque<int> ready_;
  std::vector<MPI_Request> receives_, sends_;
  std::vector<int> receiver_;  // of each receive: the task that waits for it
  std::vector<int> completed_; // as MPI_Waitsome tells
  double leakage_ = 0;
};

} // namespace sweep

#endif
