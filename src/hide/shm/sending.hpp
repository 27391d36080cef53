// Messages that this rank sends through the shm library.
#pragma once

#include "hide/shm/known_requests.hpp"

namespace haloscope::shm {

// The destination of a message.
struct Envelope {
  int dest, tag;
  MPI_Comm comm;
};

// Returns whether the shm library carries the message; then the request has begun. Else MPI gets the message.
bool begin_send(Request &request, Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type,
                const Envelope &envelope);
// The same with a new request, or nullptr.
Request *begin_send(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type,
                    const Envelope &envelope);
// Returns whether the program may have its buffer back. Copies the buffer if no rank has asked for it in
// time.
bool poll_send(Request &request);
// After that.
void release_slot(Request &request);
// Whether messages of a persistent request are to be ours, as far as one knows before they are sent.
bool would_carry(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type, const Envelope &envelope);
// A handle for the program.
int make_handle(Request *request, MPI_Request *handle);
// Completes the handle of one of the library's requests, so that MPI can complete it.
void complete_handle(MPI_Request handle);
// Takes back the slots and memory of messages that were received since.
void reap();
bool any_under_way(); // some that were not
void finish_sends();
// MPI carries a message of the program. If it is as long as a token, no token has this length from then on.
void pass_token_length(MPI_Count count, MPI_Datatype type, const Envelope &envelope);
// Sends by MPI, in the form that does not block.
int post_to_mpi(Mode mode, const void *buffer, MPI_Count count, MPI_Datatype type, const Envelope &envelope,
                MPI_Request *handle);

} // namespace haloscope::shm
