// Markers as C++ scopes: a region ends with its object, also by an exception. Create and destroy it on one
// thread. Rules for threads are in region.h.
#ifndef HALOSCOPE_REGION_HPP
#define HALOSCOPE_REGION_HPP

#include <haloscope/region.h>

#include <string>

namespace haloscope {

namespace detail {

template <int communication> class ScopedRegion {
public:
  explicit ScopedRegion(const char *name) {
    if (const haloscope_recorder *recorder = haloscope_get_()) begin(*recorder, name);
  }
  explicit ScopedRegion(const std::string &name) : ScopedRegion(name.c_str()) {}
  ~ScopedRegion() {
    if (recorder_ != nullptr) recorder_->end(name_.c_str(), communication);
  }

  ScopedRegion(const ScopedRegion &) = delete;
  ScopedRegion &operator=(const ScopedRegion &) = delete;

private:
  // The name may be a temporary, so it is copied, but only if a recorder is loaded.
  void begin(const haloscope_recorder &recorder, const char *name) {
    name_ = name;
    recorder_ = &recorder;
    recorder.begin(name, communication);
  }

  const haloscope_recorder *recorder_ = nullptr;
  std::string name_;
};

} // namespace detail

// A phase of the program.
using Region = detail::ScopedRegion<0>;
// A phase whose MPI calls form one logical pattern.
using CommRegion = detail::ScopedRegion<1>;

} // namespace haloscope

#endif
