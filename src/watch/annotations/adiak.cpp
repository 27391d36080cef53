// Adiak's interface: what a program says of its run becomes rows of `info`, as texts.
#include <adiak.h>

#include "watch/annotations/adiak_types.hpp"
#include "watch/annotations/interfaces.hpp"
#include "watch/annotations/run_metadata.hpp"

#include <array>
#include <cstdarg>
#include <string>

namespace {

namespace adiak = haloscope::watch::adiak;

int say(const char *name, const std::string &value) {
  haloscope::watch::note_use(haloscope::watch::Interface::adiak);
  if (name == nullptr || *name == '\0') return -1;
  if (haloscope::watch::is_wanted(haloscope::watch::Interface::adiak))
    haloscope::watch::say_of_run(name, value.c_str());
  return 0;
}

// C++ programs describe values by these: they are asked for by type, and never freed.
constexpr int base_types = adiak_jsonstring + 1;
std::array<adiak_datatype_t, base_types> make_base_types() {
  std::array<adiak_datatype_t, base_types> types{};
  for (int i = 0; i < base_types; i++) {
    types[i].dtype = static_cast<adiak_type_t>(i);
    types[i].numerical = adiak_numerical_from_type(types[i].dtype);
  }
  return types;
}

} // namespace

extern "C" {

void adiak_init(void * /*communicator*/) { haloscope::watch::note_use(haloscope::watch::Interface::adiak); }
int adiak_clean() { return 0; }
int adiak_flush(const char * /*place*/) { return 0; }

int adiak_namevalue(const char *name, int /*category*/, const char * /*subcategory*/, const char *type, ...) {
  if (type == nullptr) return -1;
  std::va_list values;
  va_start(values, type);
  std::string text;
  int status = -1;
  try {
    if (adiak::text_of(type, values, text)) status = say(name, text);
  } catch (...) { // NOLINT(bugprone-empty-catch): no memory: the result reports it
  }
  va_end(values);
  return status;
}

int adiak_raw_namevalue(const char *name, int /*category*/, const char * /*subcategory*/,
                        adiak_value_t *value, adiak_datatype_t *type) {
  if (value == nullptr || type == nullptr) return -1;
  try {
    return say(name, adiak::text_of(*value, *type));
  } catch (...) {
    return -1;
  }
}

adiak_numerical_t adiak_numerical_from_type(adiak_type_t type) {
  switch (type) {
  case adiak_type_unset:
    return adiak_numerical_unset;
  case adiak_long:
  case adiak_ulong:
  case adiak_int:
  case adiak_uint:
  case adiak_double:
  case adiak_longlong:
  case adiak_ulonglong:
    return adiak_rational;
  case adiak_date:
  case adiak_timeval:
    return adiak_interval;
  case adiak_version:
  case adiak_string:
    return adiak_ordinal;
  default:
    return adiak_categorical;
  }
}

adiak_datatype_t *adiak_get_basetype(adiak_type_t type) {
  static std::array<adiak_datatype_t, base_types> types = make_base_types();
  return type <= adiak_type_unset || type >= base_types ? nullptr : &types[type];
}
}
