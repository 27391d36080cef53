// Python's side of a stack: the file, line and function that called into a library.
#pragma once

#include "watch/stacks/modules.hpp"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace haloscope::watch {

// mpi4py lets go of the interpreter's lock around calls of MPI. It is taken back for the time of a look, as
// a call that returned a moment later would do.
class PythonFrames {
public:
  using Make = std::function<const Stack *(const std::string &)>;

  // Whether an address is in the interpreter's own code, if there is one.
  bool is_interpreter(std::uintptr_t address);
  // Returns `below` with the Python frames that called it: at least one, and up to `depth` in all. Returns
  // `below` itself if there are none. `make` makes a stack of a new text.
  const Stack *on(const Stack *below, unsigned depth, const Make &make);

private:
  struct Object;
  struct Known {
    const Stack *below, *whole;
    std::vector<std::uintptr_t> frames; // code and place in it, of each
  };
  struct Interface {
    int (*is_initialized)();
    void *(*this_thread)();
    int (*take)();
    void (*give_back)(int);
    Object *(*frame)();
    Object *(*back)(Object *);
    Object *(*code)(Object *);
    int (*line)(Object *);
    int (*place)(Object *); // since Python 3.11; nullptr before: the line stands for it
    Object *(*attribute)(Object *, const char *);
    const char *(*text)(Object *);
    void (*release)(Object *);
    void (*clear_error)();
  };

  bool look_for();
  void collect(unsigned wanted);
  const Stack *find(std::uint64_t hash, const Stack *below) const;
  [[nodiscard]] std::string describe(std::size_t frame) const;
  void append(std::string &to, Object *code, const char *attribute) const;

  bool looked_ = false, is_there_ = false;
  Extent code_{};
  Interface python_{};
  std::unordered_multimap<std::uint64_t, Known> known_;
  // Of the look that is going on.
  std::vector<Object *> frames_, codes_;
  std::vector<std::uintptr_t> words_;
};

} // namespace haloscope::watch
