// The part of OpenMP's interface for tools that the recorder uses, as OpenMP 5.0 and later define it. The
// recorder needs no header of a runtime.
#pragma once

#include <cstdint>

namespace haloscope::watch::ompt {

// A word that the runtime keeps for the tool, per parallel region and per task.
union Data {
  std::uint64_t value;
  void *pointer;
};

enum Event : int {
  parallel_begin = 3,
  parallel_end = 4,
  task_schedule = 6,
  implicit_task = 7,
  sync_region_wait = 16
};
enum Endpoint : int { scope_begin = 1, scope_end = 2 };
// Kinds of waiting that are barriers. Runtimes older than OpenMP 5.1 only have the first four.
enum Barrier : int {
  barrier = 1,
  implicit_barrier = 2,
  explicit_barrier = 3,
  internal_barrier = 4,
  end_of_workshare = 8,
  end_of_parallel = 9,
  end_of_teams = 10
};
enum Flag : int { initial_task = 0x1, league = 0x4000'0000 };

using Function = void (*)();
using Lookup = Function (*)(const char *name);
using SetCallback = int (*)(int event, Function callback);

struct Tool {
  int (*initialize)(Lookup lookup, int device, Data *data) noexcept;
  void (*finalize)(Data *data) noexcept;
  Data data;
};
using StartTool = Tool *(unsigned version, const char *runtime);

} // namespace haloscope::watch::ompt
