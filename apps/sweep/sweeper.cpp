#include "sweeper.hpp"

#include "ordinates.hpp"

#include <algorithm>
#include <haloscope/region.hpp>
#include <numbers>

namespace sweep {

namespace {

// A task's number is the tag of the messages to it, the same number on every rank.
void require_tags(std::size_t tasks) {
  void *bound = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void *>(&bound), &found);
  if (found != 0 && tasks > static_cast<std::size_t>(*static_cast<int *>(bound)))
    throw apps::UsageError("more sets than message tags: choose fewer of --zset, --dset or --gset");
}

} // namespace

Sweeper::Sweeper(const Parameters &p, const Domain &domain, const Medium &medium)
    : domain_(domain), ordinates_(p, medium), direction_sets_(p.dset), group_sets_(p.gset),
      vacuum_(p.boundary == "vacuum"), inflow_(medium.equilibrium) {
  for (double &flux : inflow_) flux /= 4 * std::numbers::pi;
  for (int block = 0; block < static_cast<int>(domain.blocks.size()); ++block)
    for (int d = 0; d < p.dset; ++d)
      for (int g = 0; g < p.gset; ++g) add_task(block, d, g);
  require_tags(tasks_.size());
}

void Sweeper::add_task(int block, int direction_set, int group_set) {
  const Coefficients c = ordinates_.coefficients(direction_set, group_set);
  Task task{block, direction_set, group_set, {}, {}, {}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int step = forward(ordinates_.octant(direction_set), axis) ? 1 : -1;
    task.upwind[axis] = beyond(task, axis, -step);
    task.downwind[axis] = beyond(task, axis, step);
    const long faces = domain_.blocks[static_cast<std::size_t>(block)].faces(axis);
    task.planes[axis].resize(static_cast<std::size_t>(faces * c.directions * c.groups));
  }
  tasks_.push_back(std::move(task));
}

Sweeper::Beyond Sweeper::beyond(const Task &task, std::size_t axis, int step) const {
  const int count = domain_.zset[axis];
  Int3 place = domain_.blocks[static_cast<std::size_t>(task.block)].place;
  place[axis] += step;
  const bool here = place[axis] >= 0 && place[axis] < count;
  place[axis] = (place[axis] + count) % count; // on another rank: its block at the same face
  const int number =
      (domain_.block_at(place) * direction_sets_ + task.direction_set) * group_sets_ + task.group_set;
  Int3 offset{0, 0, 0};
  offset[axis] = step;
  const int rank = domain_.grid.neighbour(offset);
  return {here ? Beyond::here : rank < 0 ? Beyond::outside : Beyond::another_rank, rank, number};
}

double Sweeper::run(const std::vector<double> &emission, std::vector<double> &flux) {
  const haloscope::CommRegion region{"sweep_comm"};
  leakage_ = 0;
  receives_.clear();
  receiver_.clear();
  sends_.clear();
  for (int number = 0; number < static_cast<int>(tasks_.size()); ++number) start(number);
  for (std::size_t done = 0; done < tasks_.size(); ++done) {
    while (ready_.empty()) wait_for_some();
    Task &next = task(ready_.front());
    ready_.pop_front();
    sweep_task(next, emission, flux);
    for (std::size_t axis = 0; axis < 3; ++axis) hand_on(next, axis);
  }
  MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
  return leakage_;
}

// All tasks are started before the first is run: messages then find their receive and land in place.
void Sweeper::start(int number) {
  Task &t = task(number);
  t.waiting = 3;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (t.upwind[axis].where == Beyond::another_rank)
      receive(number, axis);
    else if (t.upwind[axis].where == Beyond::outside)
      fill_from_boundary(t, axis);
  if (t.waiting == 0) ready_.push_back(number);
}

void Sweeper::receive(int number, std::size_t axis) {
  std::vector<double> &plane = task(number).planes[axis];
  receiver_.push_back(number);
  MPI_Irecv(plane.data(), static_cast<int>(plane.size()), MPI_DOUBLE, task(number).upwind[axis].rank, number,
            MPI_COMM_WORLD, &receives_.emplace_back());
}

void Sweeper::fill_from_boundary(Task &t, std::size_t axis) {
  --t.waiting;
  std::vector<double> &plane = t.planes[axis];
  if (vacuum_) {
    std::ranges::fill(plane, 0.0);
    return;
  }
  const Coefficients c = ordinates_.coefficients(t.direction_set, t.group_set);
  const double *inflow = inflow_.data() + std::ptrdiff_t{t.group_set} * c.groups;
  for (auto at = plane.begin(); at != plane.end();)
    for (int g = 0; g < c.groups; ++g) at = std::fill_n(at, c.directions, inflow[g]);
  leakage_ -= ordinates_.current(plane, axis, c);
}

void Sweeper::wait_for_some() {
  int count = 0;
  completed_.resize(receives_.size());
  MPI_Waitsome(static_cast<int>(receives_.size()), receives_.data(), &count, completed_.data(),
               MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) {
    const int receive = completed_[static_cast<std::size_t>(i)];
    arrived(receiver_[static_cast<std::size_t>(receive)]);
  }
}

void Sweeper::arrived(int number) {
  if (--task(number).waiting == 0) ready_.push_back(number);
}

void Sweeper::sweep_task(Task &t, const std::vector<double> &emission, std::vector<double> &flux) {
  const haloscope::Region region{"sweep_zones"};
  const Block &block = domain_.blocks[static_cast<std::size_t>(t.block)];
  const Coefficients c = ordinates_.coefficients(t.direction_set, t.group_set);
  const std::ptrdiff_t row = domain_.zones[0];
  Extent extent{block.zones, {1, row, row * domain_.zones[1]}, {}};
  auto zone = t.group_set * static_cast<std::ptrdiff_t>(domain_.size());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extent.forward[axis] = forward(ordinates_.octant(t.direction_set), axis);
    zone += block.first[axis] * extent.stride[axis];
  }
  sweep_zones(extent, c, emission.data() + zone * c.groups, flux.data() + zone * c.groups,
              {t.planes[0].data(), t.planes[1].data(), t.planes[2].data()});
}

// A plane is sent from where it was received: nothing is copied, and it is free again when all is done.
void Sweeper::hand_on(Task &t, std::size_t axis) {
  const Beyond &to = t.downwind[axis];
  std::vector<double> &plane = t.planes[axis];
  if (to.where == Beyond::another_rank) {
    MPI_Isend(plane.data(), static_cast<int>(plane.size()), MPI_DOUBLE, to.rank, to.task, MPI_COMM_WORLD,
              &sends_.emplace_back());
  } else if (to.where == Beyond::here) {
    std::swap(plane, task(to.task).planes[axis]);
    arrived(to.task);
  } else {
    leakage_ += ordinates_.current(plane, axis, ordinates_.coefficients(t.direction_set, t.group_set));
  }
}

} // namespace sweep
