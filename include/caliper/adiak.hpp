// Adiak's interface in C++: values of nearly any type, which become texts here.
#ifndef ADIAK_HPP_
#define ADIAK_HPP_

#include "adiak.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <set>
#include <sstream>
#include <string>
#include <sys/time.h>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace adiak {

// Numbers and texts that mean more.
struct date {
  using adiak_underlying_type = unsigned long;
  unsigned long v;
  date(unsigned long seconds_since_1970) : v(seconds_since_1970) {}
  operator unsigned long() const { return v; }
};

namespace internal {
struct text {
  using adiak_underlying_type = std::string;
  std::string v;
  operator std::string() const { return v; }

protected:
  explicit text(const std::string &said) : v(said) {}
};
} // namespace internal

struct version : internal::text {
  version(const std::string &said) : text(said) {}
};
struct path : internal::text {
  path(const std::string &said) : text(said) {}
};
struct catstring : internal::text {
  catstring(const std::string &said) : text(said) {}
};
struct jsonstring : internal::text {
  jsonstring(const std::string &said) : text(said) {}
};

namespace internal {

inline std::string text_of(const char *value) { return value == nullptr ? "" : value; }
inline std::string text_of(const std::string &value) { return value; }
inline std::string text_of(const text &value) { return value.v; }
inline std::string text_of(const date &value) { return std::to_string(value.v); }
inline std::string text_of(bool value) { return value ? "1" : "0"; }
inline std::string text_of(double value) {
  std::ostringstream digits;
  digits.imbue(std::locale::classic()); // the program may have chosen another
  digits << std::setprecision(15) << value;
  std::istringstream back(digits.str());
  back.imbue(std::locale::classic());
  double same = 0;
  if (back >> same && same == value) return digits.str();
  digits.str("");
  digits << std::setprecision(17) << value;
  return digits.str();
}
inline std::string text_of(const timeval &value) {
  return text_of(static_cast<double>(value.tv_sec) + 1e-6 * static_cast<double>(value.tv_usec));
}
inline std::string text_of(const timeval *value) { return value == nullptr ? "" : text_of(*value); }
template <class Number, typename std::enable_if<std::is_integral<Number>::value, int>::type = 0>
std::string text_of(Number value) {
  return std::to_string(value);
}

// These know each other, so that a list may be one of tuples.
template <class... Parts> std::string text_of(const std::tuple<Parts...> &values);
template <class Values>
auto text_of(const Values &values) -> decltype(values.begin(), values.end(), std::string{});

template <std::size_t at, class Values> void append(const Values &, std::string &, std::false_type) {}
template <std::size_t at, class Values> void append(const Values &values, std::string &to, std::true_type) {
  to += (at == 0 ? "" : ",") + text_of(std::get<at>(values));
  append<at + 1>(values, to, std::integral_constant<bool, (at + 1 < std::tuple_size<Values>::value)>{});
}
template <class... Parts> std::string text_of(const std::tuple<Parts...> &values) {
  std::string all;
  append<0>(values, all, std::integral_constant<bool, (sizeof...(Parts) > 0)>{});
  return "(" + all + ")";
}

template <class Values>
auto text_of(const Values &values) -> decltype(values.begin(), values.end(), std::string{}) {
  std::string all;
  for (const auto &value : values) all += (all.empty() ? "" : ",") + text_of(value);
  return "[" + all + "]";
}

inline bool say(const std::string &name, int category, const std::string &subcategory,
                const std::string &value) {
  return adiak_namevalue(name.c_str(), category, subcategory.c_str(), "%s", value.c_str()) == 0;
}

} // namespace internal

inline void init(void *communicator) { adiak_init(communicator); }
inline void fini() { adiak_fini(); }
inline bool clean() { return adiak_clean() == 0; }
inline bool flush(const std::string &place) { return adiak_flush(place.c_str()) == 0; }

template <class Value>
bool value(const std::string &name, const Value &value, int category = adiak_general,
           const std::string &subcategory = "") {
  return internal::say(name, category, subcategory, internal::text_of(value));
}

// A range.
template <class Value>
bool value(const std::string &name, const Value &first, const Value &last, int category = adiak_general,
           const std::string &subcategory = "") {
  return internal::say(name, category, subcategory,
                       "<" + internal::text_of(first) + "," + internal::text_of(last) + ">");
}

inline bool collect_all() { return adiak_collect_all() == 0; }
inline bool adiakversion() { return adiak_adiakversion() == 0; }
inline bool user() { return adiak_user() == 0; }
inline bool uid() { return adiak_uid() == 0; }
inline bool launchdate() { return adiak_launchdate() == 0; }
inline bool launchday() { return adiak_launchday() == 0; }
inline bool executable() { return adiak_executable() == 0; }
inline bool executablepath() { return adiak_executablepath() == 0; }
inline bool workdir() { return adiak_workdir() == 0; }
inline bool libraries() { return adiak_libraries() == 0; }
inline bool cmdline() { return adiak_cmdline() == 0; }
inline bool hostname() { return adiak_hostname() == 0; }
inline bool clustername() { return adiak_clustername() == 0; }
inline bool walltime() { return adiak_walltime() == 0; }
inline bool systime() { return adiak_systime() == 0; }
inline bool cputime() { return adiak_cputime() == 0; }
inline bool jobsize() { return adiak_job_size() == 0; }
inline bool hostlist() { return adiak_hostlist() == 0; }
inline bool numhosts() { return adiak_num_hosts() == 0; }
inline bool mpi_version() { return adiak_mpi_version() == 0; }
inline bool mpi_library() { return adiak_mpi_library() == 0; }
inline bool mpi_library_version() { return adiak_mpi_library_version() == 0; }

} // namespace adiak

#endif
