// p4est and p8est: exchanges of ghosts, nodes and quadrants are communication regions, and what changes or
// describes a forest is a region. A program that links them statically calls past us.
//
// Of an exchange in two parts each is an instance: what the program does between them is its own.
#include "watch/annotations/annotating.hpp"
#include "watch/annotations/following.hpp"

#include <cstddef>
#include <mpi.h>

using namespace haloscope::watch;

// A function of p4est, with its name, in the region `name`; `...` are the names of its arguments.
#define HALOSCOPE_AROUND(result, function, region, communication, arguments, ...)                            \
  extern "C" __attribute__((visibility("default"))) result function arguments {                              \
    static constinit Following<result(*) arguments> next{#function};                                         \
    const Annotation around{Interface::p4est, region, communication};                                        \
    return next(__builtin_return_address(0), __VA_ARGS__);                                                   \
  }
// p8est is p4est in three dimensions: the same functions.
#define HALOSCOPE_FOREST(result, function, region, communication, arguments, ...)                            \
  HALOSCOPE_AROUND(result, p4est_##function, p4est_##region##_region, communication, arguments, __VA_ARGS__) \
  HALOSCOPE_AROUND(result, p8est_##function, p8est_##region##_region, communication, arguments, __VA_ARGS__)
#define HALOSCOPE_EXCHANGE(result, function, region, arguments, ...)                                         \
  HALOSCOPE_FOREST(result, function, region, true, arguments, __VA_ARGS__)
// One that is also there in two parts: what the first returns, the second is given.
#define HALOSCOPE_EXCHANGES(result, function, region, arguments, ...)                                        \
  HALOSCOPE_EXCHANGE(result, function, region, arguments, __VA_ARGS__)                                       \
  HALOSCOPE_EXCHANGE(Any, function##_begin, region, arguments, __VA_ARGS__)                                  \
  HALOSCOPE_EXCHANGE(void, function##_end, region, (Any exchange), exchange)
#define HALOSCOPE_CHANGE(result, function, region, arguments, ...)                                           \
  HALOSCOPE_FOREST(result, function, region, false, arguments, __VA_ARGS__)

namespace {

#define HALOSCOPE_REGION(name)                                                                               \
  constexpr const char *p4est_##name##_region = "p4est_" #name, *p8est_##name##_region = "p8est_" #name;
HALOSCOPE_REGION(balance)
HALOSCOPE_REGION(partition)
HALOSCOPE_REGION(ghost_new)
HALOSCOPE_REGION(lnodes_new)
HALOSCOPE_REGION(ghost_exchange)
HALOSCOPE_REGION(transfer)
HALOSCOPE_REGION(lnodes_share)

using Any = void *; // a pointer to a type of the library's, or to a function: handed on as it is
using Const = const void *;
using Size = std::size_t;

} // namespace

HALOSCOPE_CHANGE(void, balance, balance, (Any forest, int type, Any init), forest, type, init)
HALOSCOPE_CHANGE(void, balance_ext, balance, (Any forest, int type, Any init, Any replace), forest, type,
                 init, replace)
HALOSCOPE_CHANGE(void, partition, partition, (Any forest, int coarsening, Any weight), forest, coarsening,
                 weight)
HALOSCOPE_CHANGE(long, partition_ext, partition, (Any forest, int coarsening, Any weight), forest, coarsening,
                 weight)
HALOSCOPE_CHANGE(Any, ghost_new, ghost_new, (Any forest, int type), forest, type)
HALOSCOPE_CHANGE(Any, lnodes_new, lnodes_new, (Any forest, Any ghost, int degree), forest, ghost, degree)

HALOSCOPE_EXCHANGES(void, ghost_exchange_data, ghost_exchange, (Any forest, Any ghost, Any data), forest,
                    ghost, data)
HALOSCOPE_EXCHANGES(void, ghost_exchange_custom, ghost_exchange,
                    (Any forest, Any ghost, Size size, Any mirrors, Any data), forest, ghost, size, mirrors,
                    data)
HALOSCOPE_EXCHANGES(void, ghost_exchange_custom_levels, ghost_exchange,
                    (Any forest, Any ghost, int least, int most, Size size, Any mirrors, Any data), forest,
                    ghost, least, most, size, mirrors, data)
HALOSCOPE_EXCHANGES(void, transfer_fixed, transfer,
                    (Const to, Const from, MPI_Comm comm, int tag, Any data, Const source, Size size), to,
                    from, comm, tag, data, source, size)
HALOSCOPE_EXCHANGES(void, transfer_custom, transfer,
                    (Const to, Const from, MPI_Comm comm, int tag, Any data, Const sizes, Const source,
                     Const source_sizes),
                    to, from, comm, tag, data, sizes, source, source_sizes)
HALOSCOPE_EXCHANGES(void, lnodes_share_owned, lnodes_share, (Any data, Any nodes), data, nodes)
HALOSCOPE_EXCHANGES(Any, lnodes_share_all, lnodes_share, (Any data, Any nodes), data, nodes)
