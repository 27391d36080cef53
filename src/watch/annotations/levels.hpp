// The level of hypre's BoomerAMG to which a communication package belongs.
//
// The records of hypre are private and change with each version. The search uses only what is true for all
// versions. The solver points to an array of the matrices of all levels, whose first is the matrix that it
// was set up with. It may also point to arrays of the operators between levels. A matrix begins with its
// communicator and its global numbers of rows and columns, and points to its packages. Memory is read as
// another process would read it, so a wrong guess finds nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <mutex>

namespace haloscope::watch {

// The operators of one solver.
class Hierarchy {
public:
  static constexpr unsigned most_levels = 64;

  Hierarchy() = default;
  Hierarchy(const void *solver, const void *matrix) noexcept : solver_(solver), matrix_(matrix) {}

  [[nodiscard]] const void *solver() const noexcept { return solver_; }
  // Looks at the solver again, as levels are added while it is set up; `whole`: also for operators between
  // them.
  void refresh(bool whole) noexcept;
  // -1 if it is of none.
  [[nodiscard]] int level_of(const void *package) const noexcept;

private:
  using Operators = std::array<const void *, most_levels>;
  [[nodiscard]] bool goes_between(const Operators &operators) const noexcept;

  const void *solver_ = nullptr, *matrix_ = nullptr;
  const void *array_ = nullptr; // of the levels' matrices
  Operators levels_{};
  unsigned count_ = 0;
  std::array<Operators, 2> between_{}; // prolongation, and restriction where it is another one
  unsigned betweens_ = 0;
};

// All solvers of the process. Known packages are found without looking at the solvers.
class Levels {
public:
  void begin_setup(const void *solver, const void *matrix) noexcept;
  void end_setup(const void *solver) noexcept;
  void forget(const void *solver) noexcept;
  void forget_package() noexcept { generation_.fetch_add(1, std::memory_order_relaxed); }
  // -1 if not known. By a thread that calls hypre.
  [[nodiscard]] int of(const void *package) noexcept;

private:
  [[nodiscard]] int search(const void *package) noexcept;

  std::mutex mutex_;
  std::array<Hierarchy, 16> solvers_{}; // of more, the oldest is forgotten
  unsigned next_ = 0;
  std::atomic<unsigned> setups_{0}; // that are running
  std::atomic<std::uint32_t> generation_{1};
};

} // namespace haloscope::watch
