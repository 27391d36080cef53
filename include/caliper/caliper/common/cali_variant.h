/* A value of Caliper's interface: a number, or a text that belongs to the program. */
#ifndef CALI_CALI_VARIANT_H
#define CALI_CALI_VARIANT_H

#include "cali_types.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The type is in the lowest byte of `type_and_size`, the size of a text in the upper half. */
typedef struct {
  uint64_t type_and_size;
  union {
    uint64_t v_uint;
    bool v_bool;
    double v_double;
    int64_t v_int;
    cali_attr_type v_type;
    void *unmanaged_ptr;
    const void *unmanaged_const_ptr;
  } value;
} cali_variant_t;

cali_variant_t cali_make_empty_variant(void);
cali_variant_t cali_make_variant(cali_attr_type type, const void *data, size_t size);
cali_variant_t cali_make_variant_from_bool(bool value);
cali_variant_t cali_make_variant_from_int(int value);
cali_variant_t cali_make_variant_from_int64(int64_t value);
cali_variant_t cali_make_variant_from_uint(uint64_t value);
cali_variant_t cali_make_variant_from_double(double value);
cali_variant_t cali_make_variant_from_string(const char *value);
cali_variant_t cali_make_variant_from_type(cali_attr_type value);
cali_variant_t cali_make_variant_from_ptr(void *value);

bool cali_variant_is_empty(cali_variant_t variant);
bool cali_variant_eq(cali_variant_t one, cali_variant_t other);
cali_attr_type cali_variant_get_type(cali_variant_t variant);
size_t cali_variant_get_size(cali_variant_t variant);
const void *cali_variant_get_data(const cali_variant_t *variant);
/* `okay` may be NULL; it becomes false where the value cannot be turned into that type, and 0 is returned. */
int cali_variant_to_int(cali_variant_t variant, bool *okay);
int64_t cali_variant_to_int64(cali_variant_t variant, bool *okay);
uint64_t cali_variant_to_uint(cali_variant_t variant, bool *okay);
double cali_variant_to_double(cali_variant_t variant, bool *okay);
bool cali_variant_to_bool(cali_variant_t variant, bool *okay);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
