#include "halo.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <stdexcept>

namespace amr {

void Buffer::reserve(std::size_t size) {
  if (size <= size_) return;
  release();
  const std::size_t bytes = size * sizeof(double);
  if (from_mpi_)
    MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void *>(&data_));
  else
    data_ = static_cast<double *>(std::malloc(bytes));
  if (data_ == nullptr) throw std::bad_alloc();
  size_ = size;
}

void Buffer::release() {
  if (data_ == nullptr) return;
  if (from_mpi_)
    MPI_Free_mem(data_);
  else
    std::free(data_);
  data_ = nullptr;
  size_ = 0;
}

// Looked up, so that the program runs without them.
ReceiveBuffers receive_buffers() {
  ReceiveBuffers found;
  found.get = reinterpret_cast<int (*)(MPI_Status, void **)>(dlsym(RTLD_DEFAULT, "MPIX_Get_recv_buf"));
  found.release = reinterpret_cast<int (*)(MPI_Status, void *)>(dlsym(RTLD_DEFAULT, "MPIX_Release_recv_buf"));
  return found;
}

namespace {

Relation reverse(Relation seen) {
  if (seen == Relation::coarser) return Relation::finer;
  return seen == Relation::finer ? Relation::coarser : seen;
}

// Which quarter of its coarser neighbour's side a block touches.
std::array<int, 2> quarter(const Place &fine, int axis) {
  const std::size_t u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
  return {fine.at[u] & 1, fine.at[v] & 1};
}

} // namespace

Halo::Halo(const Shape &shape, int group, bool from_mpi, ReceiveBuffers library_buffers)
    : shape_(shape), group_(group), library_(library_buffers), sent_(from_mpi), received_(from_mpi) {
  std::size_t largest = 0;
  for (int axis = 0; axis < 3; ++axis)
    largest = std::max(largest, Face{0, axis, 0, Relation::same}.values(shape_));
  face_.resize(largest * index(group_));
}

Halo::Partner &Halo::partner(Axis &axis, int rank) {
  const auto found = std::ranges::find(axis.partners, rank, &Partner::rank);
  if (found != axis.partners.end()) return *found;
  axis.partners.emplace_back().rank = rank;
  return axis.partners.back();
}

// Two leaves that touch: `other` lies behind the upper side of `leaf`.
void Halo::add(int axis, Relation seen, const Tree &tree, int leaf, int other, int rank) {
  const Leaf &first = tree.leaves()[index(leaf)], &second = tree.leaves()[index(other)];
  Pair pair{{leaf, axis, 1, seen}, {other, axis, 0, reverse(seen)}};
  if (seen == Relation::finer) pair.first.quarter = quarter(second.place, axis);
  if (seen == Relation::coarser) pair.second.quarter = quarter(first.place, axis);
  Axis &along = axes_[index(axis)];
  if (first.owner == rank && second.owner == rank)
    along.local.push_back(pair);
  else if (first.owner == rank)
    partner(along, second.owner).faces.push_back(pair.first);
  else if (second.owner == rank)
    partner(along, first.owner).faces.push_back(pair.second);
}

void Halo::plan(const Tree &tree, int rank) {
  axes_ = {};
  for (int axis = 0; axis < 3; ++axis)
    for (int leaf = 0; leaf < tree.size(); ++leaf) {
      const Neighbours upper = tree.neighbours(leaf, axis, 1);
      for (const int other : upper.leaves) add(axis, upper.relation, tree, leaf, other, rank);
      if (tree.leaves()[index(leaf)].owner != rank) continue;
      for (int side = 0; side < 2; ++side)
        if (tree.neighbours(leaf, axis, side).relation == Relation::boundary)
          axes_[index(axis)].boundary.push_back({leaf, axis, side});
    }
  reserve();
}

// Where messages lie, and room for them.
void Halo::reserve() {
  std::size_t most = 0;
  for (Axis &axis : axes_) {
    for (Partner &p : axis.partners) {
      p.offset = axis.values;
      for (const Face &face : p.faces) p.values += face.values(shape_);
      axis.values += p.values;
      if (p.values * index(group_) > INT_MAX)
        throw std::runtime_error("the faces towards rank " + std::to_string(p.rank) +
                                 " are too many for one message: use smaller --comm_vars");
    }
    most = std::max(most, axis.values * index(group_));
  }
  sent_.reserve(most);
  if (!library_) received_.reserve(most);
}

void Halo::receive(const Axis &axis, int tag, Variables which) {
  receives_.resize(axis.partners.size());
  for (std::size_t n = 0; n < receives_.size(); ++n) {
    const Partner &p = axis.partners[n];
    double *to = library_ ? nullptr : received_.data() + p.offset * index(which.count);
    MPI_Irecv(to, static_cast<int>(p.values) * which.count, MPI_DOUBLE, p.rank, tag, MPI_COMM_WORLD,
              &receives_[n]);
  }
}

void Halo::send(const Axis &axis, int tag, const std::vector<Block> &blocks, Variables which) {
  sends_.resize(axis.partners.size());
  for (std::size_t n = 0; n < sends_.size(); ++n) {
    const Partner &p = axis.partners[n];
    double *message = sent_.data() + p.offset * index(which.count), *to = message;
    for (const Face &face : p.faces) {
      const std::size_t size = face.values(shape_) * index(which.count);
      pack(shape_, face, blocks[index(face.leaf)], which, {to, size});
      to += size;
    }
    MPI_Isend(message, static_cast<int>(to - message), MPI_DOUBLE, p.rank, tag, MPI_COMM_WORLD, &sends_[n]);
    ++traffic_.messages;
    traffic_.bytes += static_cast<long>(sizeof(double)) * (to - message);
  }
}

// Faces between blocks of this rank, and the boundary of the domain.
void Halo::within(const Axis &axis, std::vector<Block> &blocks, Variables which) {
  const auto tell = [&](const Face &from, const Face &to) {
    const std::span<double> values{face_.data(), from.values(shape_) * index(which.count)};
    pack(shape_, from, blocks[index(from.leaf)], which, values);
    unpack(shape_, to, blocks[index(to.leaf)], which, values);
  };
  for (const Pair &pair : axis.local) {
    tell(pair.first, pair.second);
    tell(pair.second, pair.first);
  }
  for (const Face &face : axis.boundary) reflect(shape_, face, blocks[index(face.leaf)], which);
}

void Halo::unpack_message(const Partner &from, std::vector<Block> &blocks, Variables which,
                          const double *values) {
  for (const Face &face : from.faces) {
    const std::size_t size = face.values(shape_) * index(which.count);
    unpack(shape_, face, blocks[index(face.leaf)], which, {values, size});
    values += size;
  }
}

void Halo::finish(const Axis &axis, std::vector<Block> &blocks, Variables which) {
  for (std::size_t n = 0; n < receives_.size(); ++n) {
    int done = 0;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(receives_.size()), receives_.data(), &done, &status);
    const Partner &from = axis.partners[index(done)];
    if (!library_) {
      unpack_message(from, blocks, which, received_.data() + from.offset * index(which.count));
      continue;
    }
    void *message = nullptr;
    library_.get(status, &message);
    unpack_message(from, blocks, which, static_cast<const double *>(message));
    library_.release(status, message);
  }
  MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
}

void Halo::exchange(std::vector<Block> &blocks, Variables which) {
  for (int tag = 0; tag < 3; ++tag) {
    const Axis &axis = axes_[index(tag)];
    receive(axis, tag, which);
    send(axis, tag, blocks, which);
    within(axis, blocks, which);
    finish(axis, blocks, which);
  }
}

} // namespace amr
