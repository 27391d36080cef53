// APPS_FAST marks an inner loop. The binary then has a version of it for each vector width, and the machine
// picks its own. So a plain `mpicxx -O3` needs no flags for its host.
#ifndef APPS_COMMON_SIMD_HPP
#define APPS_COMMON_SIMD_HPP

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(__SANITIZE_ADDRESS__)
#define APPS_FAST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define APPS_FAST
#endif

#endif
