// Conversion for generated Fortran wrappers: arguments by reference become C values. A wrapper records with
// the C values. It forwards the original Fortran arguments to the next Fortran function, so that MPI_BOTTOM
// and similar constants keep their Fortran addresses.
#pragma once

#include "interpose/library.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <initializer_list>
#include <string>
#include <vector>

namespace haloscope::interpose {

// The function that a wrapper stands before: the next one of its names, else its PMPI twin.
//
// A name without a final underscore may be that of a function of the program's libraries, as in Rmpi, which
// has a mpi_comm_rank of its own. It is one if the process has no Fortran functions of MPI.
class FortranTarget {
public:
  FortranTarget(std::initializer_list<const char *> names, const void *caller) noexcept;

  // The call is not one of MPI: its arguments must not be read.
  [[nodiscard]] bool is_namesake() const noexcept { return is_namesake_; }

  template <class... Arguments> void operator()(Arguments... arguments) const {
    reinterpret_cast<void (*)(Arguments...)>(address_)(arguments...);
  }

private:
  void *address_ = nullptr;
  bool is_namesake_ = false;
};

// Addresses that mean something else than memory.
bool is_fortran_in_place(const void *buffer) noexcept;
bool is_fortran_bottom(const void *buffer) noexcept;
bool is_fortran_status_ignore(const void *status) noexcept;

// `descriptor`: the buffer is passed as a CFI_cdesc_t, whose first member is the address.
template <bool descriptor> const void *fortran_buffer(const void *buffer) noexcept {
  if constexpr (descriptor) buffer = *static_cast<const void *const *>(buffer);
  return is_fortran_in_place(buffer) ? MPI_IN_PLACE : is_fortran_bottom(buffer) ? MPI_BOTTOM : buffer;
}

// A Fortran status has the layout of C's in both Open MPI and MPICH.
inline MPI_Status *fortran_status(void *status) noexcept {
  return is_fortran_status_ignore(status) ? MPI_STATUS_IGNORE : static_cast<MPI_Status *>(status);
}
// The status to forward if the family needs one: the program's own constant for "ignore" remains.
inline void *forwarded_status(MPI_Status *wanted, void *given) noexcept {
  return wanted == MPI_STATUS_IGNORE ? given : wanted;
}

template <class T> T fortran_value(const void *value) noexcept { return *static_cast<const T *>(value); }

#if defined(HALOSCOPE_ABI_OPENMPI)
inline MPI_Comm to_c(MPI_Comm * /*kind*/, MPI_Fint handle) noexcept { return real.Comm_f2c(handle); }
inline MPI_Datatype to_c(MPI_Datatype * /*kind*/, MPI_Fint handle) noexcept { return real.Type_f2c(handle); }
inline MPI_Request to_c(MPI_Request * /*kind*/, MPI_Fint handle) noexcept { return real.Request_f2c(handle); }
inline MPI_Message to_c(MPI_Message * /*kind*/, MPI_Fint handle) noexcept { return real.Message_f2c(handle); }
inline MPI_Win to_c(MPI_Win * /*kind*/, MPI_Fint handle) noexcept { return real.Win_f2c(handle); }
#else // MPICH's handles are the integers that Fortran has
template <class Handle> Handle to_c(Handle * /*kind*/, MPI_Fint handle) noexcept {
  return static_cast<Handle>(handle);
}
#endif
template <class Handle> Handle fortran_handle(const void *handle) noexcept {
  return to_c(static_cast<Handle *>(nullptr), fortran_value<MPI_Fint>(handle));
}

// A handle that the call sets or changes.
template <class Handle> class FortranHandle {
public:
  FortranHandle(void *given, bool is_input) noexcept : given_(given) {
    if (is_input) update();
  }
  void update() noexcept { handle_ = fortran_handle<Handle>(given_); }
  Handle *c() noexcept { return &handle_; }

private:
  void *given_;
  Handle handle_{};
};

// An array of handles, as its elements are asked for.
template <class Handle> class FortranHandles {
public:
  explicit FortranHandles(const void *first) noexcept : first_(static_cast<const MPI_Fint *>(first)) {}
  Handle operator[](std::size_t i) const noexcept { return fortran_handle<Handle>(first_ + i); }

private:
  const MPI_Fint *first_;
};

// Room for an array that a wrapper converts; a thread is in one wrapper at a time.
template <class T> T *fortran_room(std::size_t count) {
  static thread_local std::vector<T> room;
  if (room.size() < count) room.resize(count * 2);
  return room.data();
}

inline MPI_Request *fortran_requests(const void *first, int count) {
  auto *requests = fortran_room<MPI_Request>(static_cast<std::size_t>(std::max(count, 0)));
  const FortranHandles<MPI_Request> given{first};
  for (int i = 0; i < count; i++) requests[i] = given[static_cast<std::size_t>(i)];
  return requests;
}

// Where positions start: at 1 in Fortran, but at 0 in the mpi_f08 of MPICH 4.0.
int first_position() noexcept;
inline int c_index(MPI_Fint position) noexcept {
  return position == MPI_UNDEFINED ? position : position - first_position();
}
inline void update_indices(int *indices, const void *given, int count) noexcept {
  if (count == MPI_UNDEFINED) return;
  for (int i = 0; i < count; i++) indices[i] = c_index(static_cast<const MPI_Fint *>(given)[i]);
}

inline std::string fortran_text(const void *text, std::size_t length) {
  std::string result{static_cast<const char *>(text), length};
  return result.erase(result.find_last_not_of(' ') + 1);
}

// The error argument is optional in mpi_f08.
class FortranError {
public:
  explicit FortranError(void *&given) noexcept {
    if (given == nullptr) given = &own_;
    error_ = static_cast<MPI_Fint *>(given);
  }
  int operator()() const noexcept { return *error_; }
  void set(int error) const noexcept { *error_ = error; }

private:
  MPI_Fint own_ = MPI_SUCCESS;
  MPI_Fint *error_;
};

} // namespace haloscope::interpose
