// A collective with its buffers: the call, its expected result, and the check.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "predict/measure/side_channel.hpp"

namespace measure {

// The elements of messages. MPI_SUM is not defined for MPI_CHAR, which is text, so it uses signed chars.
struct Element {
  MPI_Datatype type = MPI_CHAR;
  MPI_Datatype sum = MPI_SIGNED_CHAR;
  size_t width = 1;

  static Element of(const std::string &name) {
    if (name == "int") return {MPI_INT, MPI_INT, sizeof(int)};
    if (name == "float") return {MPI_FLOAT, MPI_FLOAT, sizeof(float)};
    return {};
  }
};

class Operation {
public:
  using Call = int (*)(Operation &);

  Operation(std::string name, const World &world, MPI_Comm communicator, Element element, long long bytes)
      : name_(std::move(name)), world_(world), communicator_(communicator), element_(element),
        count_(static_cast<int>(static_cast<size_t>(bytes) / element.width)) {
    const auto ranks = static_cast<size_t>(world.size);
    const auto count = static_cast<size_t>(count_);
    call_ = find(name_);
    parts();
    const bool spreads = is("alltoall") || is("alltoallv") || is("scatter") || is("scatterv");
    const bool collects = is("allgather") || is("allgatherv") || is("gather") || is("gatherv") ||
                          is("alltoall") || is("alltoallv");
    sent_ = is("barrier") ? 0 : spreads ? count * ranks : count;
    received_ = is("barrier") ? 0 : collects ? count * ranks : count;
    // Touched here, so that no page faults are measured.
    send_.reset(pages(sent_ * element.width + 1));
    receive_.reset(pages(received_ * element.width + 1));
    fill();
  }

  [[nodiscard]] bool known() const { return call_ != nullptr; }
  int operator()() { return call_(*this); }
  [[nodiscard]] bool synchronises() const { return is("barrier"); }
  // Why these ranks and bytes cannot be measured; empty: they can.
  [[nodiscard]] std::string_view obstacle() const {
    if (is("reduce_scatter_block") && count_ < world_.size) return "fewer elements than ranks";
    if (count_ == 0 && !is("barrier")) return "less than an element";
    return "";
  }

  void fill() {
    for (size_t i = 0; i < sent_; i++) store(send_.get(), i, value(world_.rank, i));
    std::memset(receive_.get(), 0x55, received_ * element_.width + 1);
    if (is("bcast") && !world_.root()) std::memset(send_.get(), 0x55, sent_ * element_.width + 1);
  }

  // Whether the call delivered the expected data.
  [[nodiscard]] bool right() const {
    if (is("barrier")) return true;
    if (is("bcast")) return all(send_.get(), sent_, [](size_t i) { return value(0, i); });
    if (is("reduce") || is("allreduce")) {
      const bool has = is("allreduce") || world_.root();
      return !has || all(receive_.get(), sent_, [this](size_t i) { return total(i); });
    }
    if (is("reduce_scatter") || is("reduce_scatter_block")) return right_part();
    if (is("scatter") || is("scatterv")) return right_block(0, 0, own_block());
    if ((is("gather") || is("gatherv")) && !world_.root()) return true;
    const bool exchanges = is("alltoall") || is("alltoallv");
    for (int rank = 0; rank < world_.size; rank++)
      if (!right_block(rank, rank, exchanges ? own_block() : 0)) return false;
    return true;
  }

private:
  [[nodiscard]] bool is(const char *name) const { return name_ == name; }
  char *send() { return send_.get(); }
  char *receive() { return receive_.get(); }
  [[nodiscard]] MPI_Datatype type() const { return element_.type; }
  [[nodiscard]] size_t own_block() const {
    return static_cast<size_t>(world_.rank) * static_cast<size_t>(count_);
  }

  // Small, so that sums of floats are exact.
  static int value(int rank, size_t i) { return static_cast<int>((i + 3 * static_cast<size_t>(rank)) % 7); }
  [[nodiscard]] int total(size_t i) const {
    int sum = 0;
    for (int rank = 0; rank < world_.size; rank++) sum += value(rank, i);
    return sum;
  }

  void store(char *buffer, size_t i, int what) const {
    if (element_.type == MPI_INT) std::memcpy(buffer + i * element_.width, &what, sizeof what);
    const auto real = static_cast<float>(what);
    if (element_.type == MPI_FLOAT) std::memcpy(buffer + i * element_.width, &real, sizeof real);
    if (element_.width == 1) buffer[i] = static_cast<char>(what);
  }
  [[nodiscard]] bool holds(const char *buffer, size_t i, int what) const {
    char expected[sizeof(int)] = {};
    store(expected, 0, what);
    return std::memcmp(buffer + i * element_.width, expected, element_.width) == 0;
  }
  template <class Expected>
  [[nodiscard]] bool all(const char *buffer, size_t count, Expected expected) const {
    for (size_t i = 0; i < count; i++)
      if (!holds(buffer, i, expected(i))) return false;
    return true;
  }
  // Whether block `at` of the received data equals the block that `rank` sent from its element `from` on.
  [[nodiscard]] bool right_block(int at, int rank, size_t from) const {
    const auto count = static_cast<size_t>(count_);
    return all(receive_.get() + static_cast<size_t>(at) * count * element_.width, count,
               [=](size_t i) { return value(rank, from + i); });
  }
  [[nodiscard]] bool right_part() const {
    const auto rank = static_cast<size_t>(world_.rank);
    const auto from = static_cast<size_t>(displacements_[rank]);
    return all(receive_.get(), static_cast<size_t>(counts_[rank]),
               [this, from](size_t i) { return total(from + i); });
  }

  // Counts of the v forms are equal; those of reduce_scatter are the parts of one vector.
  void parts() {
    const int share = count_ / world_.size;
    const int more = is("reduce_scatter") ? count_ % world_.size : 0;
    const bool divides = is("reduce_scatter") || is("reduce_scatter_block");
    int at = 0;
    for (int rank = 0; rank < world_.size; rank++) {
      counts_.push_back(divides ? share + (rank < more ? 1 : 0) : count_);
      displacements_.push_back(at);
      at += counts_.back();
    }
  }

  struct Release {
    void operator()(char *memory) const { std::free(memory); }
  };
  using Buffer = std::unique_ptr<char, Release>;
  // OSU does the same: copies of large messages are slower if they do not begin at a page.
  static char *pages(size_t size) {
    constexpr size_t page = 4096;
    return static_cast<char *>(std::aligned_alloc(page, (size + page - 1) / page * page));
  }

  static Call find(const std::string &name);

  std::string name_;
  World world_;
  MPI_Comm communicator_;
  Element element_;
  int count_;
  Call call_ = nullptr;
  size_t sent_ = 0;
  size_t received_ = 0;
  Buffer send_;
  Buffer receive_;
  std::vector<int> counts_;
  std::vector<int> displacements_;
};

inline Operation::Call Operation::find(const std::string &name) {
  using O = Operation;
  static const std::map<std::string, Call> calls = {
      {"allgather",
       [](O &o) {
         return MPI_Allgather(o.send(), o.count_, o.type(), o.receive(), o.count_, o.type(), o.communicator_);
       }},
      {"allgatherv",
       [](O &o) {
         return MPI_Allgatherv(o.send(), o.count_, o.type(), o.receive(), o.counts_.data(),
                               o.displacements_.data(), o.type(), o.communicator_);
       }},
      {"allreduce",
       [](O &o) {
         return MPI_Allreduce(o.send(), o.receive(), o.count_, o.element_.sum, MPI_SUM, o.communicator_);
       }},
      {"alltoall",
       [](O &o) {
         return MPI_Alltoall(o.send(), o.count_, o.type(), o.receive(), o.count_, o.type(), o.communicator_);
       }},
      {"alltoallv",
       [](O &o) {
         return MPI_Alltoallv(o.send(), o.counts_.data(), o.displacements_.data(), o.type(), o.receive(),
                              o.counts_.data(), o.displacements_.data(), o.type(), o.communicator_);
       }},
      {"barrier", [](O &o) { return MPI_Barrier(o.communicator_); }},
      {"bcast", [](O &o) { return MPI_Bcast(o.send(), o.count_, o.type(), 0, o.communicator_); }},
      {"gather",
       [](O &o) {
         return MPI_Gather(o.send(), o.count_, o.type(), o.receive(), o.count_, o.type(), 0, o.communicator_);
       }},
      {"gatherv",
       [](O &o) {
         return MPI_Gatherv(o.send(), o.count_, o.type(), o.receive(), o.counts_.data(),
                            o.displacements_.data(), o.type(), 0, o.communicator_);
       }},
      {"reduce",
       [](O &o) {
         return MPI_Reduce(o.send(), o.receive(), o.count_, o.element_.sum, MPI_SUM, 0, o.communicator_);
       }},
      {"reduce_scatter",
       [](O &o) {
         return MPI_Reduce_scatter(o.send(), o.receive(), o.counts_.data(), o.element_.sum, MPI_SUM,
                                   o.communicator_);
       }},
      {"reduce_scatter_block",
       [](O &o) {
         return MPI_Reduce_scatter_block(o.send(), o.receive(), o.counts_[0], o.element_.sum, MPI_SUM,
                                         o.communicator_);
       }},
      {"scatter",
       [](O &o) {
         return MPI_Scatter(o.send(), o.count_, o.type(), o.receive(), o.count_, o.type(), 0,
                            o.communicator_);
       }},
      {"scatterv",
       [](O &o) {
         return MPI_Scatterv(o.send(), o.counts_.data(), o.displacements_.data(), o.type(), o.receive(),
                             o.count_, o.type(), 0, o.communicator_);
       }},
  };
  const auto found = calls.find(name);
  return found == calls.end() ? nullptr : found->second;
}

} // namespace measure
