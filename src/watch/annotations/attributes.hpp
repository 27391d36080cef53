// Caliper's attributes: names that a program gives values to.
#pragma once

#include <caliper/common/cali_types.h>

#include <cstdint>

namespace haloscope::watch {

// The use of an attribute's value in the recorder.
enum class Meaning : std::uint8_t {
  value_names_region,     // a text begins a region of its own name
  attribute_names_region, // whatever it is, it begins a region of the attribute's name
  number,                 // it says something of the region that is open
  of_the_run,             // global: metadata
};

// Never freed, nor moved.
struct Attribute {
  const char *name;
  cali_id_t id;
  cali_attr_type type;
  int properties;
  Meaning meaning;
  const Attribute *next; // of the same hash
};

// The ones that markers use. Their ids are known before anything has run.
enum Predefined : cali_id_t { region_id = 16, phase_id, comm_region_id, loop_id, function_id, annotation_id };

// Neither takes a lock. nullptr if there is none, or too many are.
const Attribute *find_attribute(const char *name) noexcept;
const Attribute *find_attribute(cali_id_t id) noexcept;
// The one of that name, if there is one already, whatever it is like.
const Attribute *make_attribute(const char *name, cali_attr_type type, int properties) noexcept;
// `iteration#LOOP`
const Attribute *make_iteration(const char *loop) noexcept;

} // namespace haloscope::watch
