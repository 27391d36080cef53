// What Caliper's interface does, for those of its languages.
#pragma once

#include "watch/annotations/attributes.hpp"

#include <caliper/common/cali_variant.h>

#include <string>

namespace haloscope::watch::caliper {

// Each does nothing where the attribute is nullptr.
void begin(const Attribute *attribute, const cali_variant_t &value) noexcept;
void end(const Attribute *attribute) noexcept;
void set(const Attribute *attribute, const cali_variant_t &value) noexcept;

// A row of `info`. `caliper.config` is ours once a configuration has been started.
void say(const char *key, const char *value) noexcept;
void say_configuration(const std::string &configuration) noexcept;

std::string text_of(const cali_variant_t &value);

} // namespace haloscope::watch::caliper
