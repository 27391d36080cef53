// Adiak's values as texts. Compound ones are in brackets, as their types are: {%d} of 1 and 2 is [1,2], a
// tuple (1,2), a range <1,2>.
#pragma once

#include <adiak.h>

#include <cstdarg>
#include <string>

namespace haloscope::watch::adiak {

// Takes from `values` what the type's text describes; returns false for a text that describes nothing.
bool text_of(const char *type, std::va_list values, std::string &to);

std::string text_of(const adiak_value_t &value, const adiak_datatype_t &type);

std::string text_of(double number);

} // namespace haloscope::watch::adiak
