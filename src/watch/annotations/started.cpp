#include "watch/annotations/started.hpp"

#include "interpose/report.hpp"
#include "watch/annotations/interfaces.hpp"
#include "watch/counting/state.hpp"

#include <string>

namespace haloscope::watch {

namespace {

void name_unknown_words() noexcept try {
  const char *words = unknown_interfaces();
  if (words == nullptr || global().process->rank != 0) return;
  interpose::complain(std::string{"HALOSCOPE_ANNOTATIONS: there is no interface '"} + words +
                      "'; give all, none, or some of caliper,adiak,kokkos,nvtx,itt,petsc,hypre,p4est");
} catch (...) { // NOLINT(bugprone-empty-catch): no memory to say it
}

} // namespace

void annotations_started() noexcept {
  name_unknown_words();
  enter_open_regions();
}

} // namespace haloscope::watch
