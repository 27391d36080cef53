// The function that a program meant when it found ours first.
#pragma once

#include <atomic>
#include <type_traits>

namespace haloscope::watch {

// Looked up behind us; in a library that was opened for its user alone (RTLD_LOCAL), from where the call
// came. nullptr if there is none, which is when a program calls what no library of its has.
void *find_following(const char *name, const void *caller) noexcept;

// `Function` is its type. An object of this kind is a static one: it needs no constructor.
template <class Function> class Following {
public:
  explicit constexpr Following(const char *name) noexcept : name_(name) {}

  // Calls it; what is zero of its result if there is none.
  template <class... Arguments>
  auto operator()(const void *caller, Arguments... arguments)
      -> std::invoke_result_t<Function, Arguments...> {
    auto *function = reinterpret_cast<Function>(found_.load(std::memory_order_relaxed));
    if (__builtin_expect(function == nullptr, 0)) {
      void *found = find_following(name_, caller);
      found_.store(found, std::memory_order_relaxed);
      function = reinterpret_cast<Function>(found);
    }
    if (function == nullptr) return std::invoke_result_t<Function, Arguments...>();
    return function(arguments...);
  }

private:
  const char *name_;
  std::atomic<void *> found_{nullptr};
};

} // namespace haloscope::watch
