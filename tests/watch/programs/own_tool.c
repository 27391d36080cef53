// A tool of the user's for OpenMP, as a library that is preloaded or that OMP_TOOL_LIBRARIES names.
#include <stddef.h>

struct tool {
  void *initialize, *finalize, *data;
};

struct tool *ompt_start_tool(unsigned version, const char *runtime) {
  static struct tool own;
  (void)version;
  (void)runtime;
  return &own;
}
