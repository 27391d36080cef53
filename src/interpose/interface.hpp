// Differences between the binary interfaces: Open MPI (libmpi.so.40), MPICH and its derivatives
// (libmpi.so.12), the standard ABI (libmpi_abi.so), and SimGrid's MPI for simulations (libsimgrid.so).
// HALOSCOPE_ABI_* is set by the build.
#pragma once

#include "interpose/real.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace haloscope::interpose {

// The MPI library's own functions, for what the recorder asks and sends; see library.hpp.
extern RealFunctions real;
// Where the program's calls go: the next definitions of MPI_*, those of another tool if there is one.
extern RealFunctions next;

inline std::uintptr_t value_of(const void *handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}
inline std::uintptr_t value_of(int handle) noexcept { return static_cast<unsigned>(handle); }

#if defined(HALOSCOPE_ABI_OPENMPI)
inline constexpr const char *interface_name = "openmpi";

// Open MPI's predefined handles are addresses of objects in the library. The recorder is preloaded
// into launchers and shells too, where there is no such library: it looks them up at run time.
#define HALOSCOPE_PREDEFINED(use)                                                                            \
  use(ompi_mpi_comm_world) use(ompi_mpi_comm_self) use(ompi_mpi_comm_null) use(ompi_mpi_group_null)          \
      use(ompi_mpi_info_null) use(ompi_request_null) use(ompi_message_null) use(ompi_message_no_proc)        \
          use(ompi_mpi_datatype_null) use(ompi_mpi_byte) use(ompi_mpi_char) use(ompi_mpi_int)                \
              use(ompi_mpi_uint64_t) use(ompi_mpi_errors_return) use(ompi_mpi_op_min) use(ompi_mpi_op_max)   \
                  use(OMPI_C_MPI_COMM_NULL_COPY_FN)
struct Predefined {
#define HALOSCOPE_MEMBER(name) decltype(::name) *name;
  HALOSCOPE_PREDEFINED(HALOSCOPE_MEMBER)
#undef HALOSCOPE_MEMBER
};
inline constexpr const char *predefined_names[] = {
#define HALOSCOPE_NAME(name) #name,
    HALOSCOPE_PREDEFINED(HALOSCOPE_NAME)
#undef HALOSCOPE_NAME
};
extern Predefined predefined;
#elif defined(HALOSCOPE_ABI_MPICH)
inline constexpr const char *interface_name = "mpich";
#elif defined(HALOSCOPE_ABI_STANDARD)
inline constexpr const char *interface_name = "standard";
#elif defined(HALOSCOPE_ABI_SIMGRID)
inline constexpr const char *interface_name = "simgrid";
#else
#error "HALOSCOPE_ABI_OPENMPI, _MPICH, _STANDARD or _SIMGRID must be defined"
#endif

// Bytes that arrived: MPI_Get_count(MPI_BYTE) is undefined where a derived type was filled in part,
// the status knows all the same.
inline std::uint64_t received_bytes(const MPI_Status &status) noexcept {
#if defined(HALOSCOPE_ABI_OPENMPI)
  return status._ucount;
#elif defined(HALOSCOPE_ABI_MPICH)
  return static_cast<std::uint32_t>(status.count_lo) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(status.count_hi_and_cancelled) >> 1U) << 32U;
#elif defined(HALOSCOPE_ABI_SIMGRID)
  return static_cast<std::uint64_t>(status.count);
#else
  MPI_Count bytes = 0;
  real.Get_elements_x(&status, MPI_BYTE, &bytes);
  return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
#endif
}

// Open MPI's one handle of all operations that were complete at once: nothing can be known of it, and
// threads that remember something would write the same place.
#if defined(HALOSCOPE_ABI_OPENMPI)
extern const void *finished_request;
inline bool is_finished(MPI_Request handle) noexcept { return handle == finished_request; }
#else
inline bool is_finished(MPI_Request /*handle*/) noexcept { return false; }
#endif

inline bool was_cancelled(const MPI_Status &status) noexcept {
#if defined(HALOSCOPE_ABI_OPENMPI)
  return status._cancelled != 0;
#elif defined(HALOSCOPE_ABI_MPICH)
  return (status.count_hi_and_cancelled & 1) != 0;
#else
  int flag = 0;
  real.Test_cancelled(&status, &flag);
  return flag != 0;
#endif
}

} // namespace haloscope::interpose

#if defined(HALOSCOPE_ABI_OPENMPI)
// From here on mpi.h's macros (MPI_COMM_WORLD …) mean the objects that were found.
#define ompi_mpi_comm_world (*::haloscope::interpose::predefined.ompi_mpi_comm_world)
#define ompi_mpi_comm_self (*::haloscope::interpose::predefined.ompi_mpi_comm_self)
#define ompi_mpi_comm_null (*::haloscope::interpose::predefined.ompi_mpi_comm_null)
#define ompi_mpi_group_null (*::haloscope::interpose::predefined.ompi_mpi_group_null)
#define ompi_mpi_info_null (*::haloscope::interpose::predefined.ompi_mpi_info_null)
#define ompi_request_null (*::haloscope::interpose::predefined.ompi_request_null)
#define ompi_message_null (*::haloscope::interpose::predefined.ompi_message_null)
#define ompi_message_no_proc (*::haloscope::interpose::predefined.ompi_message_no_proc)
#define ompi_mpi_datatype_null (*::haloscope::interpose::predefined.ompi_mpi_datatype_null)
#define ompi_mpi_byte (*::haloscope::interpose::predefined.ompi_mpi_byte)
#define ompi_mpi_char (*::haloscope::interpose::predefined.ompi_mpi_char)
#define ompi_mpi_int (*::haloscope::interpose::predefined.ompi_mpi_int)
#define ompi_mpi_uint64_t (*::haloscope::interpose::predefined.ompi_mpi_uint64_t)
#define ompi_mpi_errors_return (*::haloscope::interpose::predefined.ompi_mpi_errors_return)
#define ompi_mpi_op_min (*::haloscope::interpose::predefined.ompi_mpi_op_min)
#define ompi_mpi_op_max (*::haloscope::interpose::predefined.ompi_mpi_op_max)
#define OMPI_C_MPI_COMM_NULL_COPY_FN (*::haloscope::interpose::predefined.OMPI_C_MPI_COMM_NULL_COPY_FN)
#endif
