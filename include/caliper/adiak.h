/* Adiak's interface for metadata of a run, for programs that are profiled by Haloscope:
 * docs/reference/caliper.md. The preloaded recorder has these functions. The libadiak next to it has the same
 * functions, which do nothing. Thread safety: any thread may call them, before MPI_Finalize.
 * @return 0, or -1 if nothing was recorded. */
#ifndef ADIAK_H_
#define ADIAK_H_

#include <stddef.h>

#define ADIAK_VERSION 0
#define ADIAK_MINOR_VERSION 4
#define ADIAK_POINT_VERSION 1
#define ADIAK_HAVE_LONGLONG 1
#define ADIAK_HAVE_JSONSTRING 1

/* Categories; those from 1001 on are the program's own. */
#define adiak_category_unset 0
#define adiak_category_all 1
#define adiak_general 2
#define adiak_performance 3
#define adiak_control 4

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum {
  adiak_numerical_unset = 0,
  adiak_categorical,
  adiak_ordinal,
  adiak_interval,
  adiak_rational
} adiak_numerical_t;

/* Each type with its symbol in the text of a type. */
typedef enum {
  adiak_type_unset = 0,
  adiak_long,      /* %ld */
  adiak_ulong,     /* %lu */
  adiak_int,       /* %d, %i; %i8 to %i64 in compound types */
  adiak_uint,      /* %u; %u8 to %u64 */
  adiak_double,    /* %f; %f32, %f64 */
  adiak_date,      /* %D: a long, seconds since 1970 */
  adiak_timeval,   /* %t: a struct timeval * */
  adiak_version,   /* %v */
  adiak_string,    /* %s */
  adiak_catstring, /* %r */
  adiak_path,      /* %p */
  adiak_range,     /* <T>: an array of two */
  adiak_set,       /* [T]: an array and the number of its elements, an int */
  adiak_list,      /* {T}: the same */
  adiak_tuple,     /* (T,...): a struct and the number of its members */
  adiak_longlong,  /* %lld */
  adiak_ulonglong, /* %llu */
  adiak_jsonstring /* %j */
} adiak_type_t;

typedef int adiak_category_t;

typedef struct adiak_datatype_t {
  adiak_type_t dtype;
  adiak_numerical_t numerical;
  int num_elements;
  int num_subtypes;
  struct adiak_datatype_t **subtype;
  int is_reference;
  int num_ref_elements;
  size_t num_bytes;
} adiak_datatype_t;

typedef union adiak_value_t {
  signed long v_long;
  int v_int;
  short v_short;
  char v_char;
  double v_double;
  void *v_ptr;
  union adiak_value_t *v_subval;
  long long v_longlong;
} adiak_value_t;

void adiak_init(void *communicator);
void adiak_fini(void);
int adiak_clean(void);
int adiak_flush(const char *place);

/* Values follow the type's text; one that begins with & may stay where it is. */
int adiak_namevalue(const char *name, int category, const char *subcategory, const char *type, ...);
int adiak_raw_namevalue(const char *name, int category, const char *subcategory, adiak_value_t *value,
                        adiak_datatype_t *type);
adiak_datatype_t *adiak_get_basetype(adiak_type_t type);
adiak_numerical_t adiak_numerical_from_type(adiak_type_t type);

/* Facts of the run that need no value from the program. The name of the function is the key. */
int adiak_collect_all(void);
int adiak_adiakversion(void);
int adiak_user(void);
int adiak_uid(void);
int adiak_launchdate(void);
int adiak_launchday(void);
int adiak_executable(void);
int adiak_executablepath(void);
int adiak_workdir(void);
int adiak_libraries(void);
int adiak_cmdline(void);
int adiak_hostname(void);
int adiak_clustername(void);
int adiak_walltime(void);
int adiak_systime(void);
int adiak_cputime(void);
int adiak_job_size(void);
int adiak_hostlist(void);
int adiak_num_hosts(void);
int adiak_mpi_version(void);
int adiak_mpi_library(void);
int adiak_mpi_library_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
