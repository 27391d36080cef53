// One type for all lambdas of a signature, so that a family of functions is compiled once and not once per
// wrapper. The price is an indirect call: for functions that are not called often, and for Fortran's.
#pragma once

namespace haloscope::interpose {

// Refers to a callable object, which must outlive it: a temporary object does until the end of the full
// expression.
template <class Result, class... Arguments> class Erased {
public:
  template <class Callable>
  explicit Erased(const Callable &callable) noexcept
      : object_(&callable), function_([](const void *object, Arguments... arguments) -> Result {
          return (*static_cast<const Callable *>(object))(arguments...);
        }) {}

  Result operator()(Arguments... arguments) const { return function_(object_, arguments...); }

private:
  const void *object_;
  Result (*function_)(const void *, Arguments...);
};

template <class Callable, class Result, class... Arguments>
Erased<Result, Arguments...> erased_as(const Callable &callable, Result (Callable::*)(Arguments...) const) {
  return Erased<Result, Arguments...>{callable};
}

template <class Callable> auto erased(const Callable &callable) {
  return erased_as(callable, &Callable::operator());
}

} // namespace haloscope::interpose
