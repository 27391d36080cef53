// Errors of input. All ranks throw the same, none is left waiting.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace haloscope::fem {

// One line: what happened, to what, what to do.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

// Collective. Each rank passes what it found wrong, "" if nothing: if any found something, all throw
// the message of the lowest of these ranks.
void agree(MPI_Comm communicator, const std::string &wrong);

} // namespace haloscope::fem
