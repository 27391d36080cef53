// Caliper's C interface: regions, attributes and their values. Names and meanings are Caliper's.
// docs/reference/caliper.md lists how each is recorded.
#include "watch/annotations/caliper.hpp"

#include "watch/counting/open_regions.hpp"

#define HALOSCOPE_WITHOUT_STREAMS // which would come with all of the C++ library's
#include <caliper/cali.h>

namespace haloscope::watch::caliper {

namespace {

inline void begin_named(cali_id_t kind, const char *name, bool communication = false) noexcept {
  if (is_used() && name != nullptr) open_region(kind, name, communication);
}

inline void end_named(cali_id_t kind, const char *name) noexcept {
  if (is_used() && name != nullptr) close_region(kind, name);
}

// Of a name that has no attribute yet.
const Attribute *by_name(const char *name, cali_attr_type type) noexcept {
  return name == nullptr ? nullptr : make_attribute(name, type, CALI_ATTR_DEFAULT);
}

void set_global(const char *name, const cali_variant_t &value) noexcept try {
  if (is_used() && name != nullptr) say(name, text_of(value).c_str());
} catch (...) { // NOLINT(bugprone-empty-catch): no memory for it, and nothing that the program should know
}

} // namespace

void begin(const Attribute *attribute, const cali_variant_t &value) noexcept {
  if (!is_used() || attribute == nullptr) return;
  switch (attribute->meaning) {
  case Meaning::value_names_region:
    if (cali_variant_get_type(value) == CALI_TYPE_STRING) {
      open_region(attribute->id, static_cast<const char *>(value.value.unmanaged_const_ptr),
                  attribute->id == comm_region_id);
      return;
    }
    [[fallthrough]];
  case Meaning::attribute_names_region:
    open_region(attribute->id, attribute->name, false);
    return;
  default:
    set(attribute, value);
  }
}

void end(const Attribute *attribute) noexcept {
  if (!is_used() || attribute == nullptr) return;
  if (attribute->meaning <= Meaning::attribute_names_region) close_region(attribute->id);
}

void set(const Attribute *attribute, const cali_variant_t &value) noexcept {
  if (!is_used() || attribute == nullptr) return;
  if (attribute->meaning == Meaning::of_the_run) {
    set_global(attribute->name, value);
    return;
  }
  bool is_number = true;
  const double number = cali_variant_to_double(value, &is_number);
  if (is_number) give_value(attribute->name, number);
}

} // namespace haloscope::watch::caliper

using namespace haloscope::watch;

extern "C" {

cali_id_t cali_loop_attr_id = loop_id;
cali_id_t cali_annotation_attr_id = annotation_id;

void cali_begin_region(const char *name) { caliper::begin_named(region_id, name); }
void cali_end_region(const char *name) { caliper::end_named(region_id, name); }
void cali_begin_phase(const char *name) { caliper::begin_named(phase_id, name); }
void cali_end_phase(const char *name) { caliper::end_named(phase_id, name); }
void cali_begin_comm_region(const char *name) { caliper::begin_named(comm_region_id, name, true); }
void cali_end_comm_region(const char *name) { caliper::end_named(comm_region_id, name); }

const char *cali_get_current_region_or(const char *otherwise) {
  const char *name = innermost_region();
  return name == nullptr ? otherwise : name;
}

cali_id_t cali_create_attribute(const char *name, cali_attr_type type, int properties) {
  const Attribute *made = name == nullptr ? nullptr : make_attribute(name, type, properties);
  return made == nullptr ? CALI_INV_ID : made->id;
}
cali_id_t cali_create_attribute_with_metadata(const char *name, cali_attr_type type, int properties,
                                              int /*count*/, const cali_id_t /*attributes*/[],
                                              const cali_variant_t /*values*/[]) {
  return cali_create_attribute(name, type, properties);
}
cali_id_t cali_find_attribute(const char *name) {
  const Attribute *known = name == nullptr ? nullptr : find_attribute(name);
  return known == nullptr ? CALI_INV_ID : known->id;
}
cali_id_t cali_make_loop_iteration_attribute(const char *loop) {
  const Attribute *made = loop == nullptr ? nullptr : make_iteration(loop);
  return made == nullptr ? CALI_INV_ID : made->id;
}
const char *cali_attribute_name(cali_id_t attribute) {
  const Attribute *known = find_attribute(attribute);
  return known == nullptr ? nullptr : known->name;
}
cali_attr_type cali_attribute_type(cali_id_t attribute) {
  const Attribute *known = find_attribute(attribute);
  return known == nullptr ? CALI_TYPE_INV : known->type;
}
int cali_attribute_properties(cali_id_t attribute) {
  const Attribute *known = find_attribute(attribute);
  return known == nullptr ? CALI_ATTR_DEFAULT : known->properties;
}

void cali_begin(cali_id_t attribute) {
  caliper::begin(find_attribute(attribute), cali_make_variant_from_bool(true));
}
void cali_begin_double(cali_id_t attribute, double value) {
  caliper::begin(find_attribute(attribute), cali_make_variant_from_double(value));
}
void cali_begin_int(cali_id_t attribute, int value) {
  caliper::begin(find_attribute(attribute), cali_make_variant_from_int(value));
}
void cali_begin_string(cali_id_t attribute, const char *value) {
  if (value != nullptr) caliper::begin(find_attribute(attribute), cali_make_variant_from_string(value));
}
void cali_end(cali_id_t attribute) { caliper::end(find_attribute(attribute)); }

void cali_begin_byname(const char *attribute) {
  caliper::begin(caliper::by_name(attribute, CALI_TYPE_BOOL), cali_make_variant_from_bool(true));
}
void cali_begin_double_byname(const char *attribute, double value) {
  caliper::begin(caliper::by_name(attribute, CALI_TYPE_DOUBLE), cali_make_variant_from_double(value));
}
void cali_begin_int_byname(const char *attribute, int value) {
  caliper::begin(caliper::by_name(attribute, CALI_TYPE_INT), cali_make_variant_from_int(value));
}
void cali_begin_string_byname(const char *attribute, const char *value) {
  if (value != nullptr)
    caliper::begin(caliper::by_name(attribute, CALI_TYPE_STRING), cali_make_variant_from_string(value));
}
void cali_end_byname(const char *attribute) {
  if (attribute != nullptr) caliper::end(find_attribute(attribute));
}

void cali_set(cali_id_t attribute, const void *value, size_t size) {
  if (const Attribute *known = find_attribute(attribute))
    caliper::set(known, cali_make_variant(known->type, value, size));
}
void cali_set_double(cali_id_t attribute, double value) {
  caliper::set(find_attribute(attribute), cali_make_variant_from_double(value));
}
void cali_set_int(cali_id_t attribute, int value) {
  caliper::set(find_attribute(attribute), cali_make_variant_from_int(value));
}
void cali_set_string(cali_id_t attribute, const char *value) {
  if (value != nullptr) caliper::set(find_attribute(attribute), cali_make_variant_from_string(value));
}
void cali_set_double_byname(const char *attribute, double value) {
  caliper::set(caliper::by_name(attribute, CALI_TYPE_DOUBLE), cali_make_variant_from_double(value));
}
void cali_set_int_byname(const char *attribute, int value) {
  caliper::set(caliper::by_name(attribute, CALI_TYPE_INT), cali_make_variant_from_int(value));
}
void cali_set_string_byname(const char *attribute, const char *value) {
  if (value != nullptr)
    caliper::set(caliper::by_name(attribute, CALI_TYPE_STRING), cali_make_variant_from_string(value));
}

void cali_set_global_double_byname(const char *attribute, double value) {
  caliper::set_global(attribute, cali_make_variant_from_double(value));
}
void cali_set_global_int_byname(const char *attribute, int value) {
  caliper::set_global(attribute, cali_make_variant_from_int(value));
}
void cali_set_global_string_byname(const char *attribute, const char *value) {
  if (value != nullptr) caliper::set_global(attribute, cali_make_variant_from_string(value));
}
void cali_set_global_uint_byname(const char *attribute, uint64_t value) {
  caliper::set_global(attribute, cali_make_variant_from_uint(value));
}
}
