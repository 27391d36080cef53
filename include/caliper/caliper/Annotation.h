// Caliper's markers that end by themselves. They have no bodies here: the library that is preloaded, or else
// linked, has them, so that programs compiled with other headers find them as well.
#ifndef CALI_ANNOTATION_H
#define CALI_ANNOTATION_H

#include "common/Variant.h"

#include <map>
#include <utility>

#pragma GCC visibility push(default)
namespace cali {

// A region of the function's name.
class Function {
public:
  Function(const char *name);
  ~Function();
  Function(const Function &) = delete;
  Function &operator=(const Function &) = delete;
};

class ScopeAnnotation {
public:
  explicit ScopeAnnotation(const char *name);
  ~ScopeAnnotation();
  ScopeAnnotation(const ScopeAnnotation &) = delete;
  ScopeAnnotation &operator=(const ScopeAnnotation &) = delete;
};

// A region of the loop's name; each iteration is an instance of the region `iteration#NAME` in it.
class Loop {
  struct Impl;
  Impl *state_;

public:
  class Iteration {
    const Impl *loop_;

  public:
    Iteration(const Impl *loop, int number);
    ~Iteration();
  };

  Loop(const char *name);
  // A copy does not end the loop.
  Loop(const Loop &other);
  ~Loop();
  Iteration iteration(int number) const;
  void end();
};

// An attribute of any name, and its value.
class Annotation {
  struct Impl;
  Impl *attribute_;

public:
  using MetadataListType = std::map<const char *, Variant>;

  // Ends what `begin` has begun.
  class Guard {
    Impl *attribute_;

  public:
    Guard(Annotation &annotation);
    ~Guard();
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;
  };
  using AutoScope = Guard;

  Annotation(const char *name, int properties = 0);
  // Metadata of the attribute itself is ignored.
  Annotation(const char *name, const MetadataListType &metadata, int properties = 0);
  Annotation(const Annotation &other);
  ~Annotation(); // NOLINT(performance-trivially-destructible): programs have its symbol
  Annotation &operator=(const Annotation &other);

  Annotation &begin();
  Annotation &begin(int value);
  Annotation &begin(double value);
  Annotation &begin(const Variant &value);
  Annotation &begin(const char *value) { return begin(Variant(value)); }
  Annotation &begin(cali_attr_type type, void *data, std::uint64_t size) {
    return begin(Variant(type, data, size));
  }

  Annotation &set(int value);
  Annotation &set(double value);
  Annotation &set(const char *value);
  Annotation &set(cali_attr_type type, void *data, std::uint64_t size);
  Annotation &set(const Variant &value);

  // All else that a Variant can be made of.
  template <class Value, typename std::enable_if<!std::is_same<Value, Variant>::value, int>::type = 0>
  Annotation &begin(const Value &value) {
    return begin(Variant(value));
  }
  template <class Value, typename std::enable_if<!std::is_same<Value, Variant>::value, int>::type = 0>
  Annotation &set(const Value &value) {
    return set(Variant(value));
  }

  void end();
};

} // namespace cali
#pragma GCC visibility pop

#endif
