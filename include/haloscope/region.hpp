// Markers as C++ scopes: a region ends where its object does, also when an exception leaves it.
#ifndef HALOSCOPE_REGION_HPP
#define HALOSCOPE_REGION_HPP

#include <haloscope/region.h>

#include <string>
#include <utility>

namespace haloscope {

namespace detail {

template <int communication> class ScopedRegion {
public:
  explicit ScopedRegion(std::string name) : name_(std::move(name)) {
    haloscope_begin_(name_.c_str(), communication);
  }
  ~ScopedRegion() { haloscope_end_(name_.c_str(), communication); }

  ScopedRegion(const ScopedRegion &) = delete;
  ScopedRegion &operator=(const ScopedRegion &) = delete;

private:
  std::string name_;
};

} // namespace detail

// A phase of the program.
using Region = detail::ScopedRegion<0>;
// A phase whose MPI calls form one logical pattern.
using CommRegion = detail::ScopedRegion<1>;

} // namespace haloscope

#endif
