// The arguments of a type's constructor.
#pragma once

#include "interpose/library.hpp"

#include <climits>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace haloscope::shm {

inline std::int64_t extent_of(MPI_Datatype type) {
  MPI_Count low = 0, extent = 0;
  interpose::real.Type_get_extent_x(type, &low, &extent);
  return extent;
}

class Contents {
public:
  // `most`: arrays longer than that are not read.
  explicit Contents(MPI_Datatype type, int most = INT_MAX);
  ~Contents();
  Contents(const Contents &) = delete;
  Contents &operator=(const Contents &) = delete;

  [[nodiscard]] int combiner() const noexcept { return combiner_; }
  [[nodiscard]] bool is_basic() const noexcept { return is_basic_; }      // of MPI's own
  [[nodiscard]] bool is_read() const noexcept { return !parts_.empty(); } // else nothing below is known
  [[nodiscard]] const std::vector<MPI_Datatype> &parts() const noexcept { return parts_; }
  [[nodiscard]] const std::vector<int> &numbers() const noexcept { return numbers_; }
  [[nodiscard]] const std::vector<MPI_Aint> &places() const noexcept { return places_; }

private:
  int combiner_ = 0;
  bool is_basic_ = false;
  std::vector<int> numbers_;
  std::vector<MPI_Aint> places_;
  std::vector<MPI_Datatype> parts_;
};

} // namespace haloscope::shm
