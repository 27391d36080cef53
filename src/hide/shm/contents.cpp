#include "hide/shm/contents.hpp"

namespace haloscope::shm {

using interpose::real;

Contents::Contents(MPI_Datatype type, int most) {
  int integers = 0, addresses = 0, inner = 0;
  if (real.Type_get_envelope(type, &integers, &addresses, &inner, &combiner_) != MPI_SUCCESS) return;
  is_basic_ = combiner_ == MPI_COMBINER_NAMED || inner == 0;
  if (is_basic_ || integers > most || addresses > most) return;
  // One more entry each, so that none is a null pointer.
  numbers_.resize(static_cast<std::size_t>(integers) + 1);
  places_.resize(static_cast<std::size_t>(addresses) + 1);
  parts_.resize(static_cast<std::size_t>(inner), MPI_DATATYPE_NULL);
  if (real.Type_get_contents(type, integers, addresses, inner, numbers_.data(), places_.data(),
                             parts_.data()) != MPI_SUCCESS)
    parts_.clear();
  numbers_.pop_back();
  places_.pop_back();
}

Contents::~Contents() {
  for (MPI_Datatype part : parts_) {
    int integers = 0, addresses = 0, inner = 0, combiner = MPI_COMBINER_NAMED;
    real.Type_get_envelope(part, &integers, &addresses, &inner, &combiner);
    if (combiner != MPI_COMBINER_NAMED) real.Type_free(&part);
  }
}

} // namespace haloscope::shm
