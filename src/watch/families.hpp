// The families of MPI functions. The generated wrappers (meanings.py, interpose/generate.py) call them with
// the arguments of the standard's functions. `call` is the MPI library's own function. It gets the status to
// use if the function has one.
//
// A call that fails has no effect on any count. Arguments are used only after it succeeded, and only if the
// standard calls them significant.
#pragma once

#include "interpose/erased.hpp"
#include "watch/collecting/lifecycle.hpp"
#include "watch/counting/buffer_memory.hpp"
#include "watch/counting/collectives.hpp"
#include "watch/counting/passing.hpp"
#include "watch/counting/persistent.hpp"
#include "watch/counting/probes.hpp"
#include "watch/counting/state.hpp"
#include "watch/counting/wait_and_test.hpp"

#include <string>
#include <string_view>

namespace haloscope::watch {

// Counted by name, not timed: shorter than a stamp.
template <class Call> auto count_only(const Invocation &invoked, Call &&call) {
  const Entry state{invoked};
  if (state) count_call(*state, invoked, 0);
  const std::uint64_t begin = state ? traced_tick(*state) : 0;
  const auto result = call();
  if (state) note_unstamped(*state, invoked, begin);
  return result;
}

// Counted and timed by name. Requests that it makes are unknown: nothing may be known of their slots.
template <class Call, class... Requests>
int pass_through(const Invocation &invoked, Category category, Call &&call, Requests... requests) {
  const Passing passing{invoked};
  const int result = call();
  if (result != MPI_SUCCESS || !passing) return result;
  (clear_request(*passing, *requests), ...);
  passing.count_success(invoked, category);
  return result;
}

template <class Count, class Call>
int one_sided(const Invocation &invoked, Count count, MPI_Datatype datatype, int target, Call &&call) {
  return timed(invoked, call, [&](ThreadState &state, std::uint64_t duration) {
    const std::uint64_t bytes = target == MPI_PROC_NULL ? 0 : payload(state, count, datatype);
    count_call(state, invoked, bytes, duration);
    add_time(*state.node, Category::one_sided, duration);
    if (target != MPI_PROC_NULL) count_one_sided(state, bytes, duration);
    return bytes;
  });
}

inline void keep_other(MPI_Request handle, Pending kind, Function function) noexcept {
  if (Request *slot = request_slot(handle)) *slot = Request{.kind = kind, .function = function};
}

template <class Count, class Call>
int post_one_sided(const Invocation &invoked, Count count, MPI_Datatype datatype, int target,
                   MPI_Request *request, Call &&call) {
  const int result = one_sided(invoked, count, datatype, target, call);
  if (result == MPI_SUCCESS) keep_other(*request, Pending::one_sided, invoked);
  return result;
}

// A file operation, or a part of one. `bytes(state)` are those that it moved for certain.
template <class Call, class Bytes>
int file_call(const Invocation &invoked, unsigned operations, Call &&call, Bytes &&bytes) {
  const Passing passing{invoked};
  const int result = call();
  if (result != MPI_SUCCESS || !passing) return result;
  const std::uint64_t moved = bytes(*passing);
  passing->node->io_ops += operations;
  passing->node->io_bytes += moved;
  passing.count_success(invoked, Category::io, moved);
  return result;
}

template <class Count, class Call>
int file_write(const Invocation &invoked, Count count, MPI_Datatype datatype, Call &&call) {
  return file_call(invoked, 1, call, [&](ThreadState &state) { return payload(state, count, datatype); });
}

template <class Count, class Call>
int post_file_write(const Invocation &invoked, Count count, MPI_Datatype datatype, MPI_Request *request,
                    Call &&call) {
  const int result = file_write(invoked, count, datatype, call);
  if (result == MPI_SUCCESS) keep_other(*request, Pending::io, invoked);
  return result;
}

// A file may have less than was asked for, so a read counts like a receive: what the status has.
template <class Call> int file_read(const Invocation &invoked, MPI_Status *status, Call &&call) {
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  return file_call(
      invoked, 1, [&] { return call(result_status); },
      [&](ThreadState &) { return received_bytes(*result_status); });
}

template <class Count, class Call>
int post_file_read(const Invocation &invoked, Count count, MPI_Datatype datatype, MPI_Request *request,
                   Call &&call) {
  return file_call(invoked, 1, call, [&](ThreadState &state) {
    const std::uint64_t room = payload(state, count, datatype);
    if (Request *slot = request_slot(*request))
      *slot = Request{.kind = Pending::io, .function = invoked, .bytes = room};
    return std::uint64_t{0};
  });
}

template <class Call> int begin_file_read(const Invocation &invoked, Call &&call) {
  return file_call(invoked, 1, call, [](ThreadState &) { return std::uint64_t{0}; });
}

template <class Call> int end_file_read(const Invocation &invoked, MPI_Status *status, Call &&call) {
  MPI_Status own;
  MPI_Status *result_status = status_for(status, own);
  return file_call(
      invoked, 0, [&] { return call(result_status); },
      [&](ThreadState &) { return received_bytes(*result_status); });
}

// `request`: the communicator may be used only when that is complete; it is described at first use.
template <class Call>
int make_communicator(const Invocation &invoked, MPI_Comm parent, const MPI_Comm *made, const char *how,
                      const MPI_Request *request, Call &&call) {
  const int result = pass_through(invoked, Category::other, call);
  if (result != MPI_SUCCESS) return result;
  if (request != nullptr) clear_request(*request);
  const std::string_view function = function_names[static_cast<unsigned>(invoked.function)];
  const MadeBy by = function == "MPI_Comm_create_group"  ? MadeBy::some
                    : function == "MPI_Intercomm_create" ? MadeBy::two_groups
                                                         : MadeBy::all;
  adopt_communicator(parent, *made, how, by);
  return result;
}

// `tag`: the program's name for a communicator made from groups without a parent.
template <class Call>
int make_from_groups(const Invocation &invoked, const MPI_Comm *made, const char *tag, Call &&call) {
  const int result = pass_through(invoked, Category::other, call);
  if (result == MPI_SUCCESS && *made != MPI_COMM_NULL)
    rename_communicator(*made, ("group/" + std::string{tag}).c_str());
  return result;
}

template <class Call> int free_communicator(const Invocation &invoked, const MPI_Comm *comm, Call &&call) {
  // Before the call: another thread may get the same handle at once.
  if (*comm != MPI_COMM_NULL) forget_communicator(*comm);
  return pass_through(invoked, Category::other, call);
}

template <class Call>
int name_communicator(const Invocation &invoked, MPI_Comm comm, const char *name, Call &&call) {
  const int result = pass_through(invoked, Category::other, call);
  if (result == MPI_SUCCESS) rename_communicator(comm, name);
  return result;
}

template <class Call> int free_datatype(const Invocation &invoked, Call &&call) {
  change_handles();
  return pass_through(invoked, Category::other, call);
}

template <class Call> int initialize(Function /*function*/, Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS) start_recording();
  return result;
}

template <class Call> int finalize(Function /*function*/, Call &&call) {
  finish_recording();
  return call();
}

template <class Call> int begin_session(Function /*function*/, Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS) start_session();
  return result;
}

template <class Call> int end_session(Function /*function*/, Call &&call) {
  const int result = call();
  if (result == MPI_SUCCESS) finish_session();
  return result;
}

// MPI_Pcontrol as in mpiP: level 0 switches recording of the process off, 1 on. Other levels are ignored.
template <class Call> int control(const Invocation &invoked, int level, Call &&call) {
  if (level == 0 || level == 1) switch_program(level == 0);
  return count_only(invoked, call);
}

} // namespace haloscope::watch
