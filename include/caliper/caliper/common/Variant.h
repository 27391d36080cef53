// A value of Caliper's C++ interface.
#ifndef CALI_VARIANT_H
#define CALI_VARIANT_H

#include "cali_variant.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace cali {

class Variant {
public:
  Variant() : variant_(cali_make_empty_variant()) {}
  Variant(const cali_variant_t &variant) : variant_(variant) {}
  explicit Variant(bool value) : variant_(cali_make_variant_from_bool(value)) {}
  explicit Variant(int value) : variant_(cali_make_variant_from_int(value)) {}
  explicit Variant(double value) : variant_(cali_make_variant_from_double(value)) {}
  explicit Variant(const char *value) : variant_(cali_make_variant_from_string(value)) {}
  explicit Variant(cali_attr_type value) : variant_(cali_make_variant_from_type(value)) {}
  template <class Value, typename std::enable_if<std::is_unsigned<Value>::value, int>::type = 0>
  explicit Variant(Value value) : variant_(cali_make_variant_from_uint(value)) {}
  Variant(cali_attr_type type, const void *data, std::size_t size)
      : variant_(cali_make_variant(type, data, size)) {}

  bool empty() const { return cali_variant_is_empty(variant_); }
  operator bool() const { return !empty(); }
  cali_variant_t c_variant() const { return variant_; }
  cali_attr_type type() const { return cali_variant_get_type(variant_); }
  const void *data() const { return cali_variant_get_data(&variant_); }
  std::size_t size() const { return cali_variant_get_size(variant_); }

  int to_int(bool *okay = nullptr) const { return cali_variant_to_int(variant_, okay); }
  std::int64_t to_int64(bool *okay = nullptr) const { return cali_variant_to_int64(variant_, okay); }
  std::uint64_t to_uint(bool *okay = nullptr) const { return cali_variant_to_uint(variant_, okay); }
  double to_double(bool *okay = nullptr) const { return cali_variant_to_double(variant_, okay); }
  bool to_bool(bool *okay = nullptr) const { return cali_variant_to_bool(variant_, okay); }

  friend bool operator==(const Variant &one, const Variant &other) {
    return cali_variant_eq(one.variant_, other.variant_);
  }
  friend bool operator!=(const Variant &one, const Variant &other) { return !(one == other); }

private:
  cali_variant_t variant_;
};

} // namespace cali

#endif
