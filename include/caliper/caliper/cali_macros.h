/* Caliper's markers, as macros. */
#ifndef CALI_CALI_MACROS_H
#define CALI_CALI_MACROS_H

#define CALI_MARK_BEGIN(name) cali_begin_region(name)
#define CALI_MARK_END(name) cali_end_region(name)
#define CALI_MARK_PHASE_BEGIN(name) cali_begin_phase(name)
#define CALI_MARK_PHASE_END(name) cali_end_phase(name)
#define CALI_MARK_COMM_REGION_BEGIN(name) cali_begin_comm_region(name)
#define CALI_MARK_COMM_REGION_END(name) cali_end_comm_region(name)

/* The end is to stand before every way out of the function. */
#define CALI_MARK_FUNCTION_BEGIN cali_begin_region(__func__)
#define CALI_MARK_FUNCTION_END cali_end_region(__func__)

/* `loop` names the loop in the other three; it is any identifier. */
#define CALI_MARK_LOOP_BEGIN(loop, name)                                                                     \
  cali_begin_string(cali_loop_attr_id, (name));                                                              \
  cali_id_t __cali_iteration_of_##loop = cali_make_loop_iteration_attribute(name)
#define CALI_MARK_LOOP_END(loop) cali_end(cali_loop_attr_id)
#define CALI_MARK_ITERATION_BEGIN(loop, number) cali_begin_int(__cali_iteration_of_##loop, (int)(number))
#define CALI_MARK_ITERATION_END(loop) cali_end(__cali_iteration_of_##loop)

#define CALI_WRAP_STATEMENT(name, statement)                                                                 \
  cali_begin_region(name);                                                                                   \
  statement;                                                                                                 \
  cali_end_region(name)

#ifdef __cplusplus
#include "Annotation.h"

#define CALI_JOIN_WORDS_(first, second) first##second
#define CALI_JOIN_(first, second) CALI_JOIN_WORDS_(first, second)

/* These end where their scope does. */
#define CALI_CXX_MARK_FUNCTION const cali::Function CALI_JOIN_(__cali_function_, __LINE__)(__func__)
#define CALI_CXX_MARK_SCOPE(name) const cali::ScopeAnnotation CALI_JOIN_(__cali_scope_, __LINE__)(name)
#define CALI_CXX_MARK_LOOP_BEGIN(loop, name) cali::Loop __cali_loop_##loop(name)
#define CALI_CXX_MARK_LOOP_END(loop) __cali_loop_##loop.end()
#define CALI_CXX_MARK_LOOP_ITERATION(loop, number)                                                           \
  const cali::Loop::Iteration __cali_iteration_of_##loop(                                                    \
      __cali_loop_##loop.iteration(static_cast<int>(number)))
#endif

#endif
