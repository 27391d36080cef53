/* Markers for the phases of a program. This header needs no library. Without the recorder, a marker costs one
 * load and one branch.
 *
 *   HALOSCOPE_REGION_BEGIN("assemble");        a phase of the program
 *   HALOSCOPE_COMM_REGION_BEGIN("halo");       a phase whose MPI calls form one pattern
 *   HALOSCOPE_VALUE("iterations", 12.0);       a number of the current instance
 *   HALOSCOPE_METADATA("case", "wing");        a text of the run
 *
 * @param name, key  any string. It is copied, and may be a different one each time.
 *
 * Regions nest. Begin and end must have equal names and be on the same thread. Wrong nesting is counted and
 * reported in the profile.
 *
 * Thread safety: any thread may use markers at any time, except in signal handlers. Regions and values are
 * ignored before MPI_Init and after MPI_Finalize. Metadata may also be set before MPI_Init.
 *
 * The first marker searches the loaded objects for the recorder: it has an ELF note with the address of its
 * table of functions. Alternatives do not work everywhere. Weak symbols are fixed to NULL in programs linked
 * with -no-pie, dlsym needs -ldl with older C libraries, and an environment variable is wrong after exec.
 * Every libc has dl_iterate_phdr, also the static one. */
#ifndef HALOSCOPE_REGION_H
#define HALOSCOPE_REGION_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The recorder's functions. `version` grows when members are added at the end. */
struct haloscope_recorder {
  uint32_t version;
  uint32_t reserved;
  void (*begin)(const char *name, int communication);
  void (*end)(const char *name, int communication);
  void (*value)(const char *name, double value);
  void (*metadata)(const char *key, const char *value); /* since version 2 */
};

#define HALOSCOPE_NOTE_NAME "Haloscope"
#define HALOSCOPE_NOTE_TYPE 1u

/* Before the search: the address of this variable. After a search without a result: NULL. */
__attribute__((weak, visibility("hidden"))) const struct haloscope_recorder *haloscope_recorder_ =
    (const struct haloscope_recorder *)(const void *)&haloscope_recorder_;

/* <link.h> declares these only under _GNU_SOURCE, which the program may or may not define. */
struct haloscope_object_ {
  ElfW(Addr) base;
  const char *name;
  const ElfW(Phdr) * headers;
  ElfW(Half) header_count;
};
extern int haloscope_each_object_(int (*)(struct haloscope_object_ *, size_t, void *),
                                  void *) __asm__("dl_iterate_phdr");

/* The note's descriptor holds the distance from itself to the table. */
__attribute__((unused)) static const struct haloscope_recorder *haloscope_in_notes_(const char *notes,
                                                                                    size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)notes;
    const char *name = notes + sizeof *note;
    const char *descriptor = name + ((note->n_namesz + 3u) & ~3u);
    size_t length = (size_t)(descriptor - notes) + ((note->n_descsz + 3u) & ~3u);
    const char *expected = HALOSCOPE_NOTE_NAME;
    size_t i = 0;
    if (length > size) return NULL;
    while (i < note->n_namesz && i < sizeof HALOSCOPE_NOTE_NAME && name[i] == expected[i]) i++;
    if (i == sizeof HALOSCOPE_NOTE_NAME && note->n_type == HALOSCOPE_NOTE_TYPE)
      return (const struct haloscope_recorder *)(const void *)(descriptor +
                                                               *(const int32_t *)(const void *)descriptor);
    notes += length;
    size -= length;
  }
  return NULL;
}

__attribute__((unused)) static int haloscope_in_object_(struct haloscope_object_ *object, size_t size,
                                                        void *found) {
  int i;
  (void)size;
  for (i = 0; i < object->header_count; i++) {
    const ElfW(Phdr) *header = &object->headers[i];
    const struct haloscope_recorder *recorder;
    if (header->p_type != PT_NOTE) continue;
    recorder = haloscope_in_notes_((const char *)(object->base + header->p_vaddr), header->p_memsz);
    if (recorder) {
      *(const struct haloscope_recorder **)found = recorder;
      return 1;
    }
  }
  return 0;
}

__attribute__((unused, noinline, cold)) static const struct haloscope_recorder *haloscope_look_(void) {
  const struct haloscope_recorder *recorder = NULL;
  haloscope_each_object_(haloscope_in_object_, (void *)&recorder);
  __atomic_store_n(&haloscope_recorder_, recorder, __ATOMIC_RELEASE);
  return recorder;
}

__attribute__((unused)) static inline const struct haloscope_recorder *haloscope_get_(void) {
  const struct haloscope_recorder *recorder = __atomic_load_n(&haloscope_recorder_, __ATOMIC_ACQUIRE);
  if (__builtin_expect((const void *)recorder == (const void *)&haloscope_recorder_, 0))
    return haloscope_look_();
  return recorder;
}

__attribute__((unused)) static inline void haloscope_begin_(const char *name, int communication) {
  const struct haloscope_recorder *recorder = haloscope_get_();
  if (__builtin_expect(recorder != NULL, 0)) recorder->begin(name, communication);
}

__attribute__((unused)) static inline void haloscope_end_(const char *name, int communication) {
  const struct haloscope_recorder *recorder = haloscope_get_();
  if (__builtin_expect(recorder != NULL, 0)) recorder->end(name, communication);
}

__attribute__((unused)) static inline void haloscope_value_(const char *name, double value) {
  const struct haloscope_recorder *recorder = haloscope_get_();
  if (__builtin_expect(recorder != NULL, 0)) recorder->value(name, value);
}

__attribute__((unused)) static inline void haloscope_metadata_(const char *key, const char *value) {
  const struct haloscope_recorder *recorder = haloscope_get_();
  if (recorder != NULL && recorder->version >= 2) recorder->metadata(key, value);
}

#define HALOSCOPE_REGION_BEGIN(name) haloscope_begin_((name), 0)
#define HALOSCOPE_REGION_END(name) haloscope_end_((name), 0)
#define HALOSCOPE_COMM_REGION_BEGIN(name) haloscope_begin_((name), 1)
#define HALOSCOPE_COMM_REGION_END(name) haloscope_end_((name), 1)
#define HALOSCOPE_VALUE(name, number) haloscope_value_((name), (number))
#define HALOSCOPE_METADATA(key, value) haloscope_metadata_((key), (value))

#ifdef __cplusplus
}
#endif

#endif
