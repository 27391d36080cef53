// One object per MPI process. SMPI, SimGrid's MPI, runs all ranks in one process of the system.
#pragma once

#if defined(HALOSCOPE_ABI_SIMGRID)
#include <cstddef>
#include <memory>
#include <vector>
#endif

namespace haloscope::watch {

#if defined(HALOSCOPE_ABI_SIMGRID)
// The simulated process that runs now; 0 outside of all.
[[nodiscard]] std::size_t simulated_process() noexcept;
#endif

// Never destroyed: MPI_Finalize may be called by exit handlers, and threads may outlive these.
template <class T> T &own() {
#if defined(HALOSCOPE_ABI_SIMGRID)
  static auto *const instances = new std::vector<std::unique_ptr<T>>;
  const std::size_t process = simulated_process();
  if (process >= instances->size()) instances->resize(process + 1);
  if ((*instances)[process] == nullptr) (*instances)[process] = std::make_unique<T>();
  return *(*instances)[process];
#else
  static T *const instance = new T;
  return *instance;
#endif
}

} // namespace haloscope::watch
