#include "interpose/fortran.hpp"

#include "interpose/report.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

namespace haloscope::interpose {

namespace {

// Libraries may hold several objects of one name; the program's own means the first that is loaded,
// MPICH's C functions know the address by a pointer.
const void *object(const char *name) noexcept { return find_object(name); }
const void *pointed(const char *name) noexcept {
  const auto *pointer = static_cast<const void *const *>(find_object(name));
  return pointer == nullptr ? nullptr : *pointer;
}

template <std::size_t count>
bool is_one_of(const std::array<const void *, count> &known, const void *address) noexcept {
  return address != nullptr && std::ranges::find(known, address) != known.end();
}

} // namespace

FortranTarget::FortranTarget(std::initializer_list<const char *> names, const void *caller) noexcept {
  void *twin = nullptr;
  for (const char *name : names) {
    if (address_ == nullptr) address_ = find_next(name, caller);
    if (twin == nullptr) twin = find_object(((*name == 'M' ? "P" : "p") + std::string{name}).c_str());
  }
  for (const char *name : names) {
    if (twin != nullptr || is_namesake_ || name[std::strlen(name) - 1] == '_') continue;
    void *namesake = find_namesake(name);
    is_namesake_ = namesake != nullptr;
    if (is_namesake_) address_ = namesake;
  }
  if (address_ == nullptr) address_ = twin;
  if (address_ != nullptr) return;
  complain(std::string{"the MPI library has no function "} + *names.begin() +
           "; relink the program with the Fortran bindings of the MPI that it runs with");
  std::abort();
}

// A question to the library: a receive from MPI_PROC_NULL completes at once.
int first_position() noexcept {
#if defined(HALOSCOPE_ABI_MPICH)
  static const int first = [] {
    const FortranTarget wait_any{{"mpi_waitany_f08_"}, nullptr};
    MPI_Request nobody = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Fint count = 1;
    MPI_Fint position = 1;
    MPI_Fint error = MPI_SUCCESS;
    real.Irecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &nobody);
    wait_any(&count, &nobody, &position, &status, &error);
    return position;
  }();
  return first;
#else
  return 1;
#endif
}

bool is_fortran_in_place(const void *buffer) noexcept {
  static const std::array known{
      object("mpi_fortran_in_place"), object("mpi_fortran_in_place_"), object("mpi_fortran_in_place__"),
      object("MPI_FORTRAN_IN_PLACE"), object("MPIR_F08_MPI_IN_PLACE"),
  };
  return is_one_of(known, buffer);
}

bool is_fortran_bottom(const void *buffer) noexcept {
  static const std::array known{
      object("mpi_fortran_bottom"), object("mpi_fortran_bottom_"), object("mpi_fortran_bottom__"),
      object("MPI_FORTRAN_BOTTOM"), object("MPIR_F08_MPI_BOTTOM"),
  };
  return is_one_of(known, buffer);
}

bool is_fortran_status_ignore(const void *status) noexcept {
  static const std::array known{
      object("mpi_fortran_status_ignore"),      object("mpi_fortran_status_ignore_"),
      object("mpi_fortran_status_ignore__"),    object("MPI_FORTRAN_STATUS_IGNORE"),
      object("mpi_fortran_statuses_ignore"),    object("mpi_fortran_statuses_ignore_"),
      object("mpi_fortran_statuses_ignore__"),  object("MPI_FORTRAN_STATUSES_IGNORE"),
      object("MPIR_F08_MPI_STATUS_IGNORE_OBJ"), object("MPIR_F08_MPI_STATUSES_IGNORE_OBJ"),
      pointed("MPI_F08_STATUS_IGNORE"),         pointed("MPI_F08_STATUSES_IGNORE"),
      pointed("MPI_F_STATUS_IGNORE"),           pointed("MPI_F_STATUSES_IGNORE"),
  };
  return status == nullptr || is_one_of(known, status);
}

} // namespace haloscope::interpose
