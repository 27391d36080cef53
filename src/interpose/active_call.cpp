#include "interpose/active_call.hpp"

#include <unwind.h>

namespace haloscope::interpose {

namespace {

struct Search {
  std::uintptr_t to;
  bool skips; // the call that asks returns there, too
  bool found = false;
  std::uintptr_t last = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context *context, void *data) noexcept {
  Search &search = *static_cast<Search *>(data);
  search.last = _Unwind_GetIP(context);
  if (search.last != search.to) return _URC_NO_REASON;
  search.found = !search.skips;
  search.skips = false;
  return search.found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

} // namespace

bool is_active_call(std::uintptr_t to, std::uintptr_t own) noexcept {
  Search search{.to = to, .skips = to == own};
  _Unwind_Backtrace(visit, &search);
  return search.found || search.last != 0; // 0: the outermost frame was passed
}

bool InnerCalls::is_inside(std::uintptr_t outer, const void *caller) noexcept {
  if (outer == 0) return true; // nothing is known of it
  const Call call{outer, return_address(caller), caller};
  Call &known = known_[call.own / 4 % known_.size()];
  if (call.own != 0 && known == call) return true;
  if (!is_active_call(outer, call.own)) return false;
  known = call;
  return true;
}

} // namespace haloscope::interpose
