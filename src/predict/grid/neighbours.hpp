// Ranks on a Cartesian grid, and which of a rank's neighbours are on its own node.
// And messages with some of them, each of the same size: buffers are from malloc or MPI_Alloc_mem, written
// before each exchange, read and checked after it.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace grid {

struct Neighbour {
  int rank = 0;
  int direction = 0; // 2 × dimension, and 1 more for the upper side
  bool near = false; // on this node
};

class Grid {
public:
  Grid(int dimensions, bool periodic) : sides_(static_cast<size_t>(dimensions), 0) {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, dimensions, sides_.data());
    const std::vector<int> around(sides_.size(), periodic ? 1 : 0);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides_.data(), around.data(), 0, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    find();
  }
  ~Grid() { MPI_Comm_free(&comm_); }
  Grid(const Grid &) = delete;
  Grid &operator=(const Grid &) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<int> &sides() const { return sides_; }
  [[nodiscard]] const std::vector<Neighbour> &neighbours() const { return neighbours_; }

private:
  void find() {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    for (int dimension = 0; dimension < static_cast<int>(sides_.size()); dimension++) {
      int lower = MPI_PROC_NULL, upper = MPI_PROC_NULL;
      MPI_Cart_shift(comm_, dimension, 1, &lower, &upper);
      add(lower, 2 * dimension, node);
      add(upper, 2 * dimension + 1, node);
    }
    int on_node = 0;
    MPI_Comm_rank(node, &on_node);
    const int first = on_node == 0 ? 1 : 0;
    MPI_Allreduce(&first, &nodes_, 1, MPI_INT, MPI_SUM, comm_);
    MPI_Comm_free(&node);
  }

  // A dimension of one rank has itself for a neighbour where it is periodic: there is nothing to send.
  void add(int rank, int direction, MPI_Comm node) {
    if (rank == MPI_PROC_NULL || rank == rank_) return;
    MPI_Group all = MPI_GROUP_NULL, here = MPI_GROUP_NULL;
    MPI_Comm_group(comm_, &all);
    MPI_Comm_group(node, &here);
    int found = MPI_UNDEFINED;
    MPI_Group_translate_ranks(all, 1, &rank, here, &found);
    MPI_Group_free(&all);
    MPI_Group_free(&here);
    neighbours_.push_back({rank, direction, found != MPI_UNDEFINED});
  }

  std::vector<int> sides_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int nodes_ = 1;
  std::vector<Neighbour> neighbours_;
};

class Buffer {
public:
  Buffer(size_t bytes, bool by_mpi) : by_mpi_(by_mpi) {
    const size_t whole = bytes + sizeof(std::uint64_t);
    if (by_mpi)
      MPI_Alloc_mem(static_cast<MPI_Aint>(whole), MPI_INFO_NULL, static_cast<void *>(&memory_));
    else
      memory_ = std::malloc(whole);
    if (memory_) std::memset(memory_, 1, whole); // no page faults later
  }
  ~Buffer() {
    if (by_mpi_ && memory_) MPI_Free_mem(memory_);
    if (!by_mpi_) std::free(memory_);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  [[nodiscard]] void *get() const { return memory_; }

private:
  void *memory_ = nullptr;
  bool by_mpi_;
};

// The first word defines the whole message. The last bytes of odd sizes are not checked.
inline void write(void *data, size_t bytes, std::uint64_t first) {
  auto *words = static_cast<std::uint64_t *>(data);
  for (size_t i = 0; i < bytes / sizeof *words; i++) words[i] = first + i;
}

// Reads all; true if it is what `write` wrote.
inline bool read(const void *data, size_t bytes, std::uint64_t first) {
  const auto *words = static_cast<const std::uint64_t *>(data);
  const size_t count = bytes / sizeof *words;
  std::uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) sum += words[i] - i;
  return sum == first * count;
}

// The extension by which receive buffers are the library's; of <haloscope/shm.h>.
struct LibraryBuffers {
  int (*get)(MPI_Status, void **) = nullptr;
  int (*release)(MPI_Status, void *) = nullptr;

  static LibraryBuffers find() {
    LibraryBuffers found;
    found.get = reinterpret_cast<decltype(found.get)>(dlsym(RTLD_DEFAULT, "MPIX_Get_recv_buf"));
    found.release = reinterpret_cast<decltype(found.release)>(dlsym(RTLD_DEFAULT, "MPIX_Release_recv_buf"));
    return found;
  }
  [[nodiscard]] bool exist() const { return get && release; }
};

enum class Part { total, inter, intra };

// Buffers of all neighbours, which exchanges with some of them share.
class Halo {
public:
  Halo(const Grid &grid, size_t bytes, bool by_mpi, LibraryBuffers library)
      : grid_(&grid), bytes_(bytes), library_(library) {
    for (size_t i = 0; i < grid.neighbours().size(); i++) {
      out_.push_back(std::make_unique<Buffer>(bytes, by_mpi));
      in_.push_back(library.exist() ? nullptr : std::make_unique<Buffer>(bytes, by_mpi));
    }
  }

  [[nodiscard]] bool allocated() const {
    for (size_t i = 0; i < out_.size(); i++)
      if (!out_[i]->get() || (in_[i] && !in_[i]->get())) return false;
    return true;
  }

  // Between these a part is exchanged; `round` makes messages differ. Buffers of other parts are written,
  // too, so that all parts begin with the same caches.
  void fill(Part part, std::uint64_t round) {
    round_ = round;
    chosen_.clear();
    for (size_t i = 0; i < out_.size(); i++) {
      const Neighbour &one = grid_->neighbours()[i];
      write(out_[i]->get(), bytes_, said(grid_->rank(), one.direction));
      if (part == Part::total || one.near == (part == Part::intra)) chosen_.push_back(i);
    }
    requests_.assign(2 * chosen_.size(), MPI_REQUEST_NULL);
    statuses_.resize(requests_.size());
  }

  void post_receives() {
    const int count = static_cast<int>(bytes_);
    size_t next = 0;
    for (const size_t i : chosen_) {
      const Neighbour &one = grid_->neighbours()[i];
      MPI_Irecv(in_[i] ? in_[i]->get() : nullptr, count, MPI_BYTE, one.rank, one.direction ^ 1, grid_->comm(),
                &requests_[next++]);
    }
  }
  void send() {
    const int count = static_cast<int>(bytes_);
    size_t next = chosen_.size();
    for (const size_t i : chosen_) {
      const Neighbour &one = grid_->neighbours()[i];
      MPI_Isend(out_[i]->get(), count, MPI_BYTE, one.rank, one.direction, grid_->comm(), &requests_[next++]);
    }
  }

  // Gives the library a chance to go on; true when all that was begun is done.
  bool test() {
    int done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
    return done != 0;
  }
  void finish() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data()); }

  // Reads what came; true if it is right.
  bool read_all() {
    bool right = true;
    for (size_t at = 0; at < chosen_.size(); at++) {
      const Neighbour &one = grid_->neighbours()[chosen_[at]];
      void *data = in_[chosen_[at]] ? in_[chosen_[at]]->get() : nullptr;
      if (!data) library_.get(statuses_[at], &data);
      if (!data || !read(data, bytes_, said(one.rank, one.direction ^ 1))) right = false;
      if (!in_[chosen_[at]] && data) library_.release(statuses_[at], data);
    }
    return right;
  }

private:
  [[nodiscard]] std::uint64_t said(int sender, int direction) const {
    return (round_ << 32) + (static_cast<std::uint64_t>(sender) << 8) + static_cast<std::uint64_t>(direction);
  }

  const Grid *grid_;
  size_t bytes_;
  LibraryBuffers library_;
  std::uint64_t round_ = 0;
  std::vector<std::unique_ptr<Buffer>> out_, in_;
  std::vector<size_t> chosen_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

} // namespace grid
