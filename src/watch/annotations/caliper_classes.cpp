// Caliper's C++ markers. Compilers mangle their names in the same way, and all sizes are those of pointers.
// So programs that were compiled with Caliper's own headers link to these.
#include "watch/annotations/caliper.hpp"
#include "watch/counting/open_regions.hpp"

#include <caliper/Annotation.h>

#include <bit>

namespace cali {

namespace {

using namespace haloscope::watch;

// A loop keeps its iterations' attribute, and whether it is still to be ended, in one pointer.
constexpr std::uintptr_t is_open = 1;
static_assert(alignof(Attribute) > is_open);

void begin_region(const char *name) {
  if (caliper::is_used() && name != nullptr) open_region(region_id, name, false);
}
void end_region() {
  if (caliper::is_used()) close_region(region_id);
}

template <class Impl> Impl *as_handle(const Attribute *attribute, std::uintptr_t bits = 0) {
  return std::bit_cast<Impl *>(std::bit_cast<std::uintptr_t>(attribute) | bits);
}
template <class Impl> bool has_open(const Impl *handle) {
  return (std::bit_cast<std::uintptr_t>(handle) & is_open) != 0;
}
template <class Impl> const Attribute *attribute_of(const Impl *handle) {
  return std::bit_cast<const Attribute *>(std::bit_cast<std::uintptr_t>(handle) & ~is_open);
}

} // namespace

Function::Function(const char *name) { begin_region(name); }
Function::~Function() { end_region(); }

ScopeAnnotation::ScopeAnnotation(const char *name) { begin_region(name); }
ScopeAnnotation::~ScopeAnnotation() { end_region(); }

Loop::Loop(const char *name)
    : state_(as_handle<Impl>(name == nullptr ? nullptr : make_iteration(name), is_open)) {
  if (caliper::is_used()) open_region(loop_id, name == nullptr ? "" : name, false);
}
Loop::Loop(const Loop &other) : state_(as_handle<Impl>(attribute_of(other.state_))) {}
Loop::~Loop() { end(); }
Loop::Iteration Loop::iteration(int number) const { return {state_, number}; }
void Loop::end() {
  if (!has_open(state_)) return;
  state_ = as_handle<Impl>(attribute_of(state_));
  if (caliper::is_used()) close_region(loop_id);
}

Loop::Iteration::Iteration(const Impl *loop, int number) : loop_(loop) {
  caliper::begin(attribute_of(loop_), cali_make_variant_from_int(number));
}
Loop::Iteration::~Iteration() { caliper::end(attribute_of(loop_)); }

Annotation::Annotation(const char *name, int properties)
    : attribute_(
          as_handle<Impl>(name == nullptr ? nullptr : make_attribute(name, CALI_TYPE_STRING, properties))) {}
Annotation::Annotation(const char *name, const MetadataListType & /*metadata*/, int properties)
    : Annotation(name, properties) {}
Annotation::Annotation(const Annotation &other) = default;
Annotation::~Annotation() = default;
Annotation &Annotation::operator=(const Annotation &other) = default;

Annotation::Guard::Guard(Annotation &annotation) : attribute_(annotation.attribute_) {}
Annotation::Guard::~Guard() { caliper::end(attribute_of(attribute_)); }

Annotation &Annotation::begin() { return begin(Variant(true)); }
Annotation &Annotation::begin(int value) { return begin(Variant(value)); }
Annotation &Annotation::begin(double value) { return begin(Variant(value)); }
Annotation &Annotation::begin(const Variant &value) {
  caliper::begin(attribute_of(attribute_), value.c_variant());
  return *this;
}

Annotation &Annotation::set(int value) { return set(Variant(value)); }
Annotation &Annotation::set(double value) { return set(Variant(value)); }
Annotation &Annotation::set(const char *value) { return set(Variant(value)); }
Annotation &Annotation::set(cali_attr_type type, void *data, std::uint64_t size) {
  return set(Variant(type, data, size));
}
Annotation &Annotation::set(const Variant &value) {
  caliper::set(attribute_of(attribute_), value.c_variant());
  return *this;
}

void Annotation::end() { caliper::end(attribute_of(attribute_)); }

} // namespace cali
