#include "watch/annotations/adiak_types.hpp"
#include "interpose/decimal.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <sys/time.h>
#include <vector>

namespace haloscope::watch::adiak {

namespace {

// A type as its text describes it; a struct of a tuple is laid out as compilers do it.
struct Type {
  char kind = 0; // d, u, f, t, s for all texts, or the bracket that opens
  std::size_t size = 0;
  std::vector<Type> parts;
};

constexpr std::string_view opening = "<[{(", closing = ">]})";

const char *past_blanks(const char *text) { return text + std::strspn(text, " ,"); }

struct Scalar {
  std::string_view text;
  char kind;
  std::size_t size;
};
// The longer ones first.
constexpr std::array scalars{
    Scalar{"lld", 'd', 8}, Scalar{"llu", 'u', 8}, Scalar{"i16", 'd', 2}, Scalar{"i32", 'd', 4},
    Scalar{"i64", 'd', 8}, Scalar{"u16", 'u', 2}, Scalar{"u32", 'u', 4}, Scalar{"u64", 'u', 8},
    Scalar{"f32", 'f', 4}, Scalar{"f64", 'f', 8}, Scalar{"ld", 'd', 8},  Scalar{"lu", 'u', 8},
    Scalar{"i8", 'd', 1},  Scalar{"u8", 'u', 1},  Scalar{"d", 'd', 4},   Scalar{"i", 'd', 4},
    Scalar{"u", 'u', 4},   Scalar{"f", 'f', 8},   Scalar{"D", 'd', 8},   Scalar{"t", 't', 8},
    Scalar{"s", 's', 8},   Scalar{"v", 's', 8},   Scalar{"r", 's', 8},   Scalar{"p", 's', 8},
    Scalar{"j", 's', 8},
};

constexpr int deepest = 8;

// Reads one type and goes past it; returns false where there is none.
bool read(const char *&text, Type &to, int depth = 0) {
  text = past_blanks(text);
  if (*text == '&') text++;
  if (*text == '%') {
    const std::string_view rest{text + 1};
    const auto *found =
        std::ranges::find_if(scalars, [&](const Scalar &one) { return rest.starts_with(one.text); });
    if (found == scalars.end()) return false;
    to = {found->kind, found->size, {}};
    text += 1 + found->text.size();
    return true;
  }
  const auto bracket = *text == '\0' ? std::string_view::npos : opening.find(*text);
  if (bracket == std::string_view::npos || depth == deepest) return false;
  to = {opening[bracket], sizeof(void *), {}};
  text++;
  do {
    if (!read(text, to.parts.emplace_back(), depth + 1)) return false;
    text = past_blanks(text);
  } while (to.kind == '(' && *text != ')' && *text != '\0');
  return *text++ == closing[bracket];
}

template <class Number> Number at(const void *place) {
  Number number;
  std::memcpy(&number, place, sizeof(Number));
  return number;
}

template <class One, class Two, class Four, class Eight>
std::string whole_text(const void *place, std::size_t size) {
  return size == 1   ? std::to_string(at<One>(place))
         : size == 2 ? std::to_string(at<Two>(place))
         : size == 4 ? std::to_string(at<Four>(place))
                     : std::to_string(at<Eight>(place));
}

std::string time_text(const timeval *time) {
  return time == nullptr
             ? ""
             : text_of(static_cast<double>(time->tv_sec) + 1e-6 * static_cast<double>(time->tv_usec));
}

std::string scalar_text(char kind, std::size_t size, const void *place) {
  switch (kind) {
  case 'd':
    return whole_text<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(place, size);
  case 'u':
    return whole_text<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(place, size);
  case 'f':
    return text_of(size == sizeof(float) ? at<float>(place) : at<double>(place));
  case 't':
    return time_text(at<const timeval *>(place));
  default: {
    const char *text = at<const char *>(place);
    return text == nullptr ? "" : text;
  }
  }
}

// How many elements each compound type has, in the order of the type's text; ranges have two.
struct Counts {
  const std::vector<int> &all;
  std::size_t next = 0;
};

struct Layout {
  std::size_t size, alignment;
};
Layout layout_of(const Type &type) {
  if (type.kind != '(') return {type.size, type.size};
  Layout whole{0, 1};
  for (const Type &part : type.parts) {
    const Layout one = layout_of(part);
    whole.alignment = std::max(whole.alignment, one.alignment);
    whole.size = (whole.size + one.alignment - 1) / one.alignment * one.alignment + one.size;
  }
  whole.size = (whole.size + whole.alignment - 1) / whole.alignment * whole.alignment;
  return whole;
}

std::string compound_text(const Type &type, const std::byte *place, Counts counts);

// `place` holds the value itself: of a list, the pointer to its elements.
std::string text_at(const Type &type, const std::byte *place, Counts counts) {
  if (type.kind == '(') return compound_text(type, place, counts);
  if (opening.find(type.kind) != std::string_view::npos)
    return compound_text(type, at<const std::byte *>(place), counts);
  return scalar_text(type.kind, type.size, place);
}

std::string compound_text(const Type &type, const std::byte *place, Counts counts) {
  int elements = type.kind == '<' ? 2 : counts.next < counts.all.size() ? counts.all[counts.next++] : 0;
  if (type.kind == '(') elements = static_cast<int>(type.parts.size());
  std::string all;
  std::size_t offset = 0;
  for (int i = 0; i < elements && place != nullptr; i++) {
    const Type &part = type.kind == '(' ? type.parts[static_cast<std::size_t>(i)] : type.parts[0];
    const Layout layout = layout_of(part);
    offset = (offset + layout.alignment - 1) / layout.alignment * layout.alignment;
    all += (i == 0 ? "" : ",") + text_at(part, place + offset, counts);
    offset += layout.size;
  }
  if (type.kind == '<') return "<" + all + ">";
  return type.kind == '(' ? "(" + all + ")" : "[" + all + "]";
}

// Returns how many counts follow the pointer to a compound value.
std::size_t count_items(const Type &type) {
  std::size_t sum = type.kind == '[' || type.kind == '{' || type.kind == '(' ? 1 : 0;
  for (const Type &part : type.parts) sum += count_items(part);
  return sum;
}

// A scalar argument is passed as its type is promoted.
std::string argument_text(const Type &type, std::va_list values) {
  switch (type.kind) {
  case 'd':
    return type.size <= 4 ? std::to_string(va_arg(values, int)) : std::to_string(va_arg(values, long));
  case 'u':
    return type.size <= 4 ? std::to_string(va_arg(values, unsigned))
                          : std::to_string(va_arg(values, unsigned long));
  case 'f':
    return text_of(va_arg(values, double));
  case 't':
    return time_text(va_arg(values, const timeval *));
  default: {
    const char *text = va_arg(values, const char *);
    return text == nullptr ? "" : text;
  }
  }
}

const char *pointed_text(const adiak_value_t &value) {
  return value.v_ptr == nullptr ? "" : static_cast<const char *>(value.v_ptr);
}

std::string elements_text(const adiak_value_t &value, const adiak_datatype_t &type) {
  std::string all;
  const int elements = type.dtype == adiak_range ? 2 : type.num_elements;
  if (value.v_subval == nullptr || type.subtype == nullptr) return all;
  for (int i = 0; i < elements; i++) {
    const adiak_datatype_t *part = type.subtype[type.dtype == adiak_tuple ? i : 0];
    if (part != nullptr) all += (i == 0 ? "" : ",") + text_of(value.v_subval[i], *part);
  }
  return all;
}

} // namespace

std::string text_of(double number) { return interpose::exact_text(number); }

bool text_of(const char *type, std::va_list values, std::string &to) {
  Type described;
  if (!read(type, described) || *past_blanks(type) != '\0') return false;
  if (opening.find(described.kind) == std::string_view::npos) {
    to = argument_text(described, values);
    return true;
  }
  const auto *place = va_arg(values, const std::byte *);
  std::vector<int> counts(count_items(described));
  for (int &count : counts) count = va_arg(values, int);
  to = compound_text(described, place, {counts});
  return true;
}

std::string text_of(const adiak_value_t &value, const adiak_datatype_t &type) {
  switch (type.dtype) {
  case adiak_long:
  case adiak_date:
    return std::to_string(value.v_long);
  case adiak_ulong:
    return std::to_string(static_cast<unsigned long>(value.v_long));
  case adiak_int:
    return std::to_string(value.v_int);
  case adiak_uint:
    return std::to_string(static_cast<unsigned>(value.v_int));
  case adiak_longlong:
    return std::to_string(value.v_longlong);
  case adiak_ulonglong:
    return std::to_string(static_cast<unsigned long long>(value.v_longlong));
  case adiak_double:
    return text_of(value.v_double);
  case adiak_timeval:
    return time_text(static_cast<const timeval *>(value.v_ptr));
  case adiak_range:
    return "<" + elements_text(value, type) + ">";
  case adiak_set:
  case adiak_list:
    return "[" + elements_text(value, type) + "]";
  case adiak_tuple:
    return "(" + elements_text(value, type) + ")";
  case adiak_type_unset:
    return {};
  default:
    return pointed_text(value);
  }
}

} // namespace haloscope::watch::adiak
