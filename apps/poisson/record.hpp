// The times of each application of the finest operator, on every rank, as CSV.
#ifndef APPS_POISSON_RECORD_HPP
#define APPS_POISSON_RECORD_HPP

#include "../common/mpi.hpp"

#include <haloscope/overlap.hpp>

#include <string>
#include <vector>

namespace poisson {

class Record {
public:
  // The list that an operator appends to; a run's begin is noted before it.
  std::vector<haloscope::Overlap::Times> times;
  void begin_run() { begins_.push_back(times.size()); }

  // Collective. The file is written whole or not at all; throws UsageError on all ranks if it cannot be.
  void write(const std::string &path, MPI_Comm communicator) const;

private:
  std::vector<std::size_t> begins_;
};

} // namespace poisson

#endif
