// Requests of the shm library as the program sees them: generalised requests of MPI.
#include "hide/shm/sending.hpp"

namespace haloscope::shm {

namespace {

int query(void * /*request*/, MPI_Status *status) {
  real.Status_set_elements(status, MPI_BYTE, 0);
  real.Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int nothing_to_free(void * /*request*/) { return MPI_SUCCESS; }
// A send can't be taken back, but the program need not wait for anybody any more.
int cancel(void *request, int /*complete*/) {
  static_cast<Request *>(request)->cancelled = true;
  return MPI_SUCCESS;
}

} // namespace

int make_handle(Request *request, MPI_Request *handle) {
  const int result = real.Grequest_start(query, nothing_to_free, cancel, request, handle);
  request->handle = *handle;
  return result;
}

void complete_handle(MPI_Request handle) { real.Grequest_complete(handle); }

} // namespace haloscope::shm
