// Lets the libraries be loaded with an older C library than the one that they were built with. No other code
// sees these symbols.
#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" [[gnu::visibility("hidden")]] std::uint32_t arc4random() noexcept;

// In glibc since 2.36. Of the linked code only std::random_device calls it, which is never used.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  while (syscall(SYS_getrandom, &number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

#ifdef HALOSCOPE_OLDER_GLIBC // older.cmake
#include <fcntl.h>
#include <sys/stat.h>

// The C library's first versions for a processor, and how to jump to a function of another library.
#if defined __aarch64__
#define HALOSCOPE_FIRST "2.17"
#define HALOSCOPE_AFFINITY HALOSCOPE_FIRST
#define HALOSCOPE_JUMP(name) "adrp x16, :got:" name "\nldr x16, [x16, :got_lo12:" name "]\nbr x16\n"
#elif defined __x86_64__
#define HALOSCOPE_FIRST "2.2.5"
#define HALOSCOPE_AFFINITY "2.3.4"
#define HALOSCOPE_JUMP(name) "jmp *" name "@GOTPCREL(%rip)\n"
#else
#error "which versions the C library began with is known of x86-64 and aarch64: unset HALOSCOPE_OLDER_GLIBC"
#endif

// Since 2.33 they are functions.
#define HALOSCOPE_NEWER extern "C" [[gnu::visibility("hidden")]]
HALOSCOPE_NEWER int __wrap_stat(const char *path, struct stat *found) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, found, 0));
}
HALOSCOPE_NEWER int __wrap_lstat(const char *path, struct stat *found) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW));
}
HALOSCOPE_NEWER int __wrap_fstat(int descriptor, struct stat *found) noexcept {
  return static_cast<int>(syscall(SYS_fstat, descriptor, found));
}
HALOSCOPE_NEWER int __wrap_fstat64(int descriptor, struct stat64 *found) noexcept {
  return static_cast<int>(syscall(SYS_fstat, descriptor, found));
}
HALOSCOPE_NEWER int __wrap_fstatat(int directory, const char *path, struct stat *found, int flags) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, directory, path, found, flags));
}

// Since 2.32; a program is taken to have threads.
HALOSCOPE_NEWER char __wrap___libc_single_threaded;
char __wrap___libc_single_threaded = 0;

// The start of a program. Since 2.34 the C library finds the program's constructors by itself. Before, it got
// them as arguments.
using Start = void(int, char **, char **);
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern Start *__init_array_start[], *__init_array_end[];
[[gnu::weak]] int older_start(int (*)(int, char **, char **), int, char **, Start *, void (*)(), void (*)(),
                              void *);
}
asm(".symver older_start,__libc_start_main@GLIBC_" HALOSCOPE_FIRST);
namespace {
void construct(int argc, char **argv, char **environment) {
  for (Start **each = __init_array_start; each != __init_array_end; ++each) (*each)(argc, argv, environment);
}
} // namespace
HALOSCOPE_NEWER int __wrap___libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
                                             Start *, void (*last)(), void (*loader)(), void *stack) {
  return older_start(program, argc, argv, construct, last, loader, stack);
}

// All others were there before, in libpthread, libdl and libm.
#define HALOSCOPE_OLDER(name, version)                                                                       \
  asm(".symver older_" #name "," #name "@GLIBC_" version "\n"                                                \
      ".pushsection .text\n"                                                                                 \
      ".globl __wrap_" #name "\n.hidden __wrap_" #name "\n.type __wrap_" #name ",%function\n"                \
      "__wrap_" #name ": " HALOSCOPE_JUMP("older_" #name) ".size __wrap_" #name ",.-__wrap_" #name "\n"      \
                                                          ".popsection\n")
HALOSCOPE_OLDER(dladdr, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(dlclose, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(dlerror, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(dlopen, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(dlsym, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(dlvsym, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_attr_getstack, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_create, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_detach, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_getattr_np, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_getspecific, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_join, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_key_create, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_key_delete, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_once, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_rwlock_rdlock, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_rwlock_unlock, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_rwlock_wrlock, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_setspecific, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_sigmask, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(__pthread_key_create, HALOSCOPE_FIRST);
HALOSCOPE_OLDER(pthread_setaffinity_np, HALOSCOPE_AFFINITY);
#ifdef HALOSCOPE_COMPUTES // what links libm
#define HALOSCOPE_COMPUTED HALOSCOPE_OLDER
HALOSCOPE_COMPUTED(exp, HALOSCOPE_FIRST);
HALOSCOPE_COMPUTED(log, HALOSCOPE_FIRST);
HALOSCOPE_COMPUTED(pow, HALOSCOPE_FIRST);
#endif
#endif
