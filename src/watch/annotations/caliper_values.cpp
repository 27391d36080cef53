// Values of Caliper's interface.
#include "interpose/decimal.hpp"
#include "watch/annotations/caliper.hpp"

#include <cstring>

namespace {

// Values know of their type in the lowest byte, and of a text's length above the 32nd bit.
constexpr std::uint64_t type_bits = 0xFF;
constexpr unsigned size_shift = 32;

cali_variant_t make_variant(cali_attr_type type, std::uint64_t bits) noexcept {
  cali_variant_t variant{};
  variant.type_and_size = type;
  variant.value.v_uint = bits;
  return variant;
}

template <class Number> std::uint64_t bits_of(Number number) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof number);
  return bits;
}

template <class Number> Number number_of(cali_variant_t variant, bool *okay) noexcept {
  if (okay != nullptr) *okay = true;
  switch (cali_variant_get_type(variant)) {
  case CALI_TYPE_INT:
    return static_cast<Number>(variant.value.v_int);
  case CALI_TYPE_UINT:
  case CALI_TYPE_ADDR:
    return static_cast<Number>(variant.value.v_uint);
  case CALI_TYPE_DOUBLE:
    return static_cast<Number>(variant.value.v_double);
  case CALI_TYPE_BOOL:
    return static_cast<Number>(variant.value.v_bool);
  default:
    if (okay != nullptr) *okay = false;
    return Number{};
  }
}

bool has_bytes(cali_variant_t variant) noexcept {
  const cali_attr_type type = cali_variant_get_type(variant);
  return type == CALI_TYPE_STRING || type == CALI_TYPE_USR;
}

} // namespace

extern "C" {

cali_variant_t cali_make_empty_variant() { return make_variant(CALI_TYPE_INV, 0); }

cali_variant_t cali_make_variant(cali_attr_type type, const void *data, size_t size) {
  cali_variant_t variant = make_variant(type, 0);
  if (data == nullptr) return cali_make_empty_variant();
  switch (type) {
  case CALI_TYPE_STRING:
  case CALI_TYPE_USR:
    variant.type_and_size |= static_cast<std::uint64_t>(size) << size_shift;
    variant.value.unmanaged_const_ptr = data;
    return variant;
  case CALI_TYPE_BOOL:
    return cali_make_variant_from_bool(*static_cast<const bool *>(data));
  case CALI_TYPE_INT:
    if (size == sizeof(int)) return cali_make_variant_from_int(*static_cast<const int *>(data));
    [[fallthrough]];
  default:
    std::memcpy(&variant.value, data, size < sizeof variant.value ? size : sizeof variant.value);
    return variant;
  }
}

cali_variant_t cali_make_variant_from_bool(bool value) {
  return make_variant(CALI_TYPE_BOOL, bits_of(value));
}
cali_variant_t cali_make_variant_from_int(int value) { return cali_make_variant_from_int64(value); }
cali_variant_t cali_make_variant_from_int64(int64_t value) {
  return make_variant(CALI_TYPE_INT, bits_of(value));
}
cali_variant_t cali_make_variant_from_uint(uint64_t value) { return make_variant(CALI_TYPE_UINT, value); }
cali_variant_t cali_make_variant_from_double(double value) {
  return make_variant(CALI_TYPE_DOUBLE, bits_of(value));
}
cali_variant_t cali_make_variant_from_string(const char *value) {
  return value == nullptr ? cali_make_empty_variant()
                          : cali_make_variant(CALI_TYPE_STRING, value, std::strlen(value));
}
cali_variant_t cali_make_variant_from_type(cali_attr_type value) {
  return make_variant(CALI_TYPE_TYPE, static_cast<std::uint64_t>(value));
}
cali_variant_t cali_make_variant_from_ptr(void *value) { return make_variant(CALI_TYPE_PTR, bits_of(value)); }

bool cali_variant_is_empty(cali_variant_t variant) { return variant.type_and_size == 0; }
cali_attr_type cali_variant_get_type(cali_variant_t variant) {
  return static_cast<cali_attr_type>(variant.type_and_size & type_bits);
}
size_t cali_variant_get_size(cali_variant_t variant) {
  return has_bytes(variant) ? variant.type_and_size >> size_shift : sizeof variant.value;
}
const void *cali_variant_get_data(const cali_variant_t *variant) {
  return has_bytes(*variant) ? variant->value.unmanaged_const_ptr
                             : static_cast<const void *>(&variant->value);
}
bool cali_variant_eq(cali_variant_t one, cali_variant_t other) {
  if (cali_variant_get_type(one) != cali_variant_get_type(other)) return false;
  if (!has_bytes(one)) return one.value.v_uint == other.value.v_uint;
  const size_t size = cali_variant_get_size(one);
  return size == cali_variant_get_size(other) &&
         std::memcmp(one.value.unmanaged_const_ptr, other.value.unmanaged_const_ptr, size) == 0;
}

int cali_variant_to_int(cali_variant_t variant, bool *okay) { return number_of<int>(variant, okay); }
int64_t cali_variant_to_int64(cali_variant_t variant, bool *okay) {
  return number_of<int64_t>(variant, okay);
}
uint64_t cali_variant_to_uint(cali_variant_t variant, bool *okay) {
  return number_of<uint64_t>(variant, okay);
}
double cali_variant_to_double(cali_variant_t variant, bool *okay) { return number_of<double>(variant, okay); }
bool cali_variant_to_bool(cali_variant_t variant, bool *okay) { return number_of<bool>(variant, okay); }
}

namespace haloscope::watch::caliper {

std::string text_of(const cali_variant_t &value) {
  switch (cali_variant_get_type(value)) {
  case CALI_TYPE_STRING:
    return {static_cast<const char *>(value.value.unmanaged_const_ptr), cali_variant_get_size(value)};
  case CALI_TYPE_BOOL:
    return value.value.v_bool ? "true" : "false";
  case CALI_TYPE_DOUBLE:
    return interpose::exact_text(value.value.v_double);
  case CALI_TYPE_INT:
    return std::to_string(value.value.v_int);
  case CALI_TYPE_UINT:
    return std::to_string(value.value.v_uint);
  default:
    return {};
  }
}

} // namespace haloscope::watch::caliper
