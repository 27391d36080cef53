#include "hide/layer/copying.hpp"
#include "hide/layer/lanes.hpp"
#include "hide/layer/layer.hpp"
#include "hide/layer/receiving.hpp"
#include "hide/layer/record.hpp"
#include "hide/layer/sending.hpp"
#include "interpose/report.hpp"

#include <dlfcn.h>
#include <exception>
#include <string>

namespace haloscope::stencil::layer {

Layer layer; // NOLINT(bugprone-throwing-static-initialization): its containers are empty

namespace {

// That of the program's heap, if large blocks of it are shared; addresses alone, until something is taken.
Arena *own_arena() {
  static Arena *arena = [] {
    using Find = Arena *(*)();
    const auto shared = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "haloscope_shared_arena"));
    Arena *found = shared == nullptr ? nullptr : shared();
    for (std::size_t bytes = std::size_t{64} << 30U; found == nullptr && bytes >= std::size_t{64} << 20U;
         bytes /= 4)
      found = Arena::make(bytes);
    return found;
  }();
  return arena;
}

bool says_on_this_rank() {
  int rank = 0;
  real.Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

void start() {
  int level = 0, worst = 0;
  std::string wrong;
  try {
    layer.options = read_options();
  } catch (const std::exception &error) {
    wrong = error.what();
  }
  // Ranks may have been given different words.
  const int mine = wrong.empty() && layer.options.protocol != Choice::off ? 0 : 1;
  real.Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (!wrong.empty()) interpose::complain(wrong + "; no message is carried: let haloscope stencil set it");
  if (worst != 0) return;
  real.Query_thread(&level);
  layer.several_threads = level == MPI_THREAD_MULTIPLE;
  std::string why;
  layer.node = Node::make(own_arena(), why);
  open_lanes(layer.node != nullptr);
  int rank = 0;
  if (layer.node == nullptr) {
    real.Comm_rank(MPI_COMM_WORLD, &rank);
    interpose::complain("rank " + std::to_string(rank) + ": " + why +
                        ", so all messages go by MPI; haloscope doctor says what is missing");
    return;
  }
  if (layer.options.attach == Attach::always && !layer.node->may_attach() && says_on_this_rank())
    interpose::complain(
        "HALOSCOPE_STENCIL_CMA: the system forbids to read another process's memory, so messages "
        "from memory that is not shared go by MPI; haloscope doctor says what to allow");
  layer.transferred = reinterpret_cast<Transferred>(dlsym(RTLD_DEFAULT, "haloscope_transferred"));
  layer.running.store(true, std::memory_order_release);
}

} // namespace

void initialise() {
  inside = true;
  try {
    start();
  } catch (const std::exception &error) {
    interpose::complain(std::string{"no message is carried: "} + error.what());
  }
  inside = false;
}

void finalise() noexcept {
  if (!layer.running.load(std::memory_order_acquire)) return;
  inside = true;
  try {
    finish_sends();
    close_lanes();
    if (const std::size_t lent = lent_buffers(); lent > 0)
      interpose::complain(
          std::to_string(lent) +
          " receive buffers of the library were never given back: call MPIX_Release_recv_buf for each");
    write_record();
    real.Barrier(layer.node->comm()); // until then others may want our help
  } catch (const std::exception &error) {
    interpose::complain(std::string{"the record of carried messages is lost: "} + error.what());
  }
  layer.running.store(false, std::memory_order_release);
  inside = false;
}

} // namespace haloscope::stencil::layer
