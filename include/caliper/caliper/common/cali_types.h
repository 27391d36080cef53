/* The types of Caliper's interface. Only what programs with its markers need; docs/reference/caliper.md. */
#ifndef CALI_CALI_TYPES_H
#define CALI_CALI_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t cali_id_t;
#define CALI_INV_ID UINT64_MAX

typedef enum {
  CALI_TYPE_INV = 0,
  CALI_TYPE_USR = 1,
  CALI_TYPE_INT = 2,
  CALI_TYPE_UINT = 3,
  CALI_TYPE_STRING = 4,
  CALI_TYPE_ADDR = 5,
  CALI_TYPE_DOUBLE = 6,
  CALI_TYPE_BOOL = 7,
  CALI_TYPE_TYPE = 8,
  CALI_TYPE_PTR = 9
} cali_attr_type;
#define CALI_MAXTYPE CALI_TYPE_PTR

/* What an attribute is like; these are or-ed. Of the scopes one is chosen, and of the levels. */
typedef enum {
  CALI_ATTR_DEFAULT = 0,
  CALI_ATTR_ASVALUE = 1,
  CALI_ATTR_NOMERGE = 2,
  CALI_ATTR_SCOPE_PROCESS = 12,
  CALI_ATTR_SCOPE_THREAD = 20,
  CALI_ATTR_SCOPE_TASK = 24,
  CALI_ATTR_SKIP_EVENTS = 1 << 6,
  CALI_ATTR_HIDDEN = 1 << 7,
  CALI_ATTR_NESTED = 1 << 8,
  CALI_ATTR_GLOBAL = 1 << 9,
  CALI_ATTR_UNALIGNED = 1 << 10,
  CALI_ATTR_AGGREGATABLE = 1 << 11,
  CALI_ATTR_LEVEL_1 = 1 << 16,
  CALI_ATTR_LEVEL_2 = 2 << 16,
  CALI_ATTR_LEVEL_3 = 3 << 16,
  CALI_ATTR_LEVEL_4 = 4 << 16,
  CALI_ATTR_LEVEL_5 = 5 << 16,
  CALI_ATTR_LEVEL_6 = 6 << 16,
  CALI_ATTR_LEVEL_7 = 7 << 16
} cali_attr_properties;
#define CALI_ATTR_LEVEL_0 0
#define CALI_ATTR_SCOPE_MASK 60
#define CALI_ATTR_LEVEL_MASK (7 << 16)

#endif
