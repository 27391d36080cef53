// What generated wrappers of Fortran's functions need where they go on in C: arguments that are converted,
// and converted back when they go out of scope.
#pragma once

#include "fortran.hpp"
#include "injection.hpp"

namespace haloscope::inject {

#if defined(HALOSCOPE_ABI_OPENMPI)
inline MPI_Fint to_fortran(MPI_Request handle) { return real.Request_c2f(handle); }
inline MPI_Fint to_fortran(MPI_Message handle) { return real.Message_c2f(handle); }
#else // MPICH's handles are the integers that Fortran has
template <class Handle> MPI_Fint to_fortran(Handle handle) { return static_cast<MPI_Fint>(handle); }
#endif

class Requests {
public:
  Requests(void *given, int count) : given_(static_cast<MPI_Fint *>(given)) {
    for (int i = 0; i < count; i++) before_.push_back(watch::fortran_handle<MPI_Request>(given_ + i));
    now_ = before_;
    now_.resize(now_.size() + 1); // never without an address
  }
  ~Requests() {
    for (std::size_t i = 0; i < before_.size(); i++)
      if (now_[i] != before_[i]) given_[i] = to_fortran(now_[i]);
  }
  Requests(const Requests &) = delete;
  Requests &operator=(const Requests &) = delete;
  MPI_Request *data() noexcept { return now_.data(); }

private:
  MPI_Fint *given_;
  std::vector<MPI_Request> before_, now_;
};

class Message {
public:
  explicit Message(void *given) : given_(static_cast<MPI_Fint *>(given)) {}
  ~Message() {
    if (set_ != MPI_MESSAGE_NULL) *given_ = to_fortran(set_);
  }
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;
  MPI_Message *c() noexcept { return &set_; }

private:
  MPI_Fint *given_;
  MPI_Message set_ = MPI_MESSAGE_NULL;
};

inline MPI_Fint fortran_position(int index) {
  return index == MPI_UNDEFINED ? index : index + watch::first_position();
}

class Position {
public:
  explicit Position(void *given) : given_(static_cast<MPI_Fint *>(given)) {}
  ~Position() {
    if (index_ != unset) *given_ = fortran_position(index_);
  }
  Position(const Position &) = delete;
  Position &operator=(const Position &) = delete;
  int *c() noexcept { return &index_; }

private:
  static constexpr int unset = INT32_MIN;
  MPI_Fint *given_;
  int index_ = unset;
};

class Positions {
public:
  Positions(void *given, int *count) : given_(static_cast<int *>(given)), count_(count) {
    *count = MPI_UNDEFINED; // until the call says how many
  }
  ~Positions() {
    for (int i = 0; i < *count_ && *count_ != MPI_UNDEFINED; i++) given_[i] = fortran_position(given_[i]);
  }
  Positions(const Positions &) = delete;
  Positions &operator=(const Positions &) = delete;
  [[nodiscard]] int *data() const noexcept { return given_; }

private:
  int *given_;
  const int *count_;
};

} // namespace haloscope::inject
