// The function that a program meant when it found ours first.
#pragma once

#include <atomic>
#include <type_traits>

namespace haloscope::watch {

// Looks up the next definition behind the recorder's. In a library that was opened with RTLD_LOCAL it is
// looked up from the caller. Returns nullptr if no library of the program has the function.
void *find_following(const char *name, const void *caller) noexcept;

// `Function` is its type. An object of this kind is a static one: it needs no constructor.
template <class Function> class Following {
public:
  explicit constexpr Following(const char *name) noexcept : name_(name) {}

  // Calls the function. Returns the zero of its type if there is no function.
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
