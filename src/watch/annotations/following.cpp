#include "watch/annotations/following.hpp"

#include <dlfcn.h>

namespace haloscope::watch {

void *find_following(const char *name, const void *caller) noexcept {
  if (void *found = dlsym(RTLD_NEXT, name)) return found;
  Dl_info where{};
  if (dladdr(caller, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  void *library = dlopen(where.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  void *found = dlsym(library, name);
  dlclose(library); // it stays as long as the caller's does
  return found;
}

} // namespace haloscope::watch
