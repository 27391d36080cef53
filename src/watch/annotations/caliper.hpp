// Caliper's functions, shared by its C and C++ interfaces.
#pragma once

#include "watch/annotations/attributes.hpp"

#include <caliper/common/cali_variant.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace haloscope::watch::caliper {

// Whether its markers become regions. The first call says in `info` that the program has them, and what
// CALI_CONFIG asks for.
enum class Use : std::uint8_t { unknown, wanted, unwanted };
extern std::atomic<Use> use;
[[gnu::noinline, gnu::cold]] Use first_use() noexcept;
inline bool is_used() noexcept {
  const Use known = use.load(std::memory_order_relaxed);
  return (__builtin_expect(known == Use::unknown, 0) ? first_use() : known) == Use::wanted;
}

// Each does nothing where the attribute is nullptr.
void begin(const Attribute *attribute, const cali_variant_t &value) noexcept;
void end(const Attribute *attribute) noexcept;
void set(const Attribute *attribute, const cali_variant_t &value) noexcept;

// A row of `info`. `caliper.config` is ours once a configuration has been started.
void say(const char *key, const char *value) noexcept;
void say_configuration(const std::string &configuration) noexcept;

std::string text_of(const cali_variant_t &value);

} // namespace haloscope::watch::caliper
