// Conversion of arguments for generated Fortran wrappers that continue in C. Arguments are converted back at
// the end of the scope.
#pragma once

#include "interpose/entering.hpp"
#include "interpose/fortran.hpp"

namespace haloscope::interpose {

#if defined(HALOSCOPE_ABI_OPENMPI)
inline MPI_Fint to_fortran(MPI_Request handle) { return real.Request_c2f(handle); }
inline MPI_Fint to_fortran(MPI_Message handle) { return real.Message_c2f(handle); }
#else // MPICH's handles are the integers that Fortran has
template <class Handle> MPI_Fint to_fortran(Handle handle) { return static_cast<MPI_Fint>(handle); }
#endif

// A buffer that C's functions get: `descriptor` as in fortran_buffer.
template <bool descriptor> class Buffer {
public:
  explicit Buffer(void *given) noexcept : address_(const_cast<void *>(fortran_buffer<descriptor>(given))) {
    if (is_fortran_bottom(address_)) address_ = MPI_BOTTOM;
  }
  [[nodiscard]] void *c() const noexcept { return address_; }

private:
  void *address_;
};

// An array as Fortran's compilers describe it to mpi_f08: gfortran in a form of its own, others as
// ISO_Fortran_binding.h has it.
struct Array {
  struct Dimension {
    std::ptrdiff_t extent, stride; // bytes
  };
  std::size_t element = 0;
  std::vector<Dimension> dimensions;

  explicit Array(const void *given) {
    static const bool is_gfortran = dlsym(RTLD_DEFAULT, "_gfortran_set_args") != nullptr;
    if (is_gfortran)
      read(*static_cast<const Gfortran *>(given));
    else
      read(*static_cast<const Standard *>(given));
  }

private:
  static constexpr int most = 15;
  struct Gfortran {
    void *base;
    std::ptrdiff_t offset;
    std::size_t element;
    int version;
    signed char rank, type;
    short attribute;
    std::ptrdiff_t span;
    struct {
      std::ptrdiff_t stride, lower, upper;
    } dimensions[most];
  };
  struct Standard {
    void *base;
    std::size_t element;
    int version;
    signed char rank, attribute;
    short type;
    struct {
      std::ptrdiff_t lower, extent, stride;
    } dimensions[most];
  };
  void read(const Gfortran &given) {
    element = given.element;
    for (int i = 0; i < given.rank; i++) {
      const auto &[stride, lower, upper] = given.dimensions[i];
      dimensions.push_back({upper - lower + 1, stride * given.span});
    }
  }
  void read(const Standard &given) {
    element = given.element;
    for (int i = 0; i < given.rank; i++)
      dimensions.push_back({given.dimensions[i].extent, given.dimensions[i].stride});
  }
};

// An array with holes, as an MPI type: one element of it replaces `count` elements of the program's type.
template <bool descriptor> class Section {
public:
  template <class Count> Section(const void *given, Count &count, MPI_Datatype &type) {
    if constexpr (descriptor) {
      const Array array{given};
      std::ptrdiff_t elements = 1, stride = static_cast<std::ptrdiff_t>(array.element);
      bool dense = true;
      for (const auto &dimension : array.dimensions) {
        if (dimension.extent <= 0) return; // of an assumed size: dense
        dense = dense && (dimension.stride == stride || dimension.extent <= 1);
        stride *= dimension.extent;
        elements *= dimension.extent;
      }
      MPI_Count size = 0;
      real.Type_size_x(type, &size);
      if (dense || elements != count || size != static_cast<MPI_Count>(array.element)) return;
      for (const auto &dimension : array.dimensions) {
        MPI_Datatype wider = MPI_DATATYPE_NULL;
        real.Type_create_hvector(static_cast<int>(dimension.extent), 1, dimension.stride, type, &wider);
        free();
        made_ = type = wider;
      }
      real.Type_commit(&made_);
      count = 1;
    }
  }
  ~Section() { free(); } // MPI keeps it while it needs it
  Section(const Section &) = delete;
  Section &operator=(const Section &) = delete;

private:
  void free() noexcept {
    if (made_ == MPI_DATATYPE_NULL) return;
    real.Type_free(&made_);
    forget_types();
  }
  MPI_Datatype made_ = MPI_DATATYPE_NULL;
};

class Requests {
public:
  Requests(void *given, int count) : given_(static_cast<MPI_Fint *>(given)) {
    for (int i = 0; i < count; i++) before_.push_back(fortran_handle<MPI_Request>(given_ + i));
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
  Message(void *given, bool is_input) : given_(static_cast<MPI_Fint *>(given)) {
    if (is_input) before_ = now_ = fortran_handle<MPI_Message>(given);
  }
  ~Message() {
    if (now_ != before_) *given_ = to_fortran(now_);
  }
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;
  MPI_Message *c() noexcept { return &now_; }

private:
  MPI_Fint *given_;
  MPI_Message before_ = MPI_MESSAGE_NULL, now_ = MPI_MESSAGE_NULL;
};

inline MPI_Fint fortran_position(int index) {
  return index == MPI_UNDEFINED ? index : index + first_position();
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

} // namespace haloscope::interpose
