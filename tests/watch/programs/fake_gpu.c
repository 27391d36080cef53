// A GPU's runtime that has no GPU: functions of CUDA's driver, of HIP or of Level Zero, by their public
// signatures, over memory of the host. An address that is free is given out again at once.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { host = 1, device = 2, managed = 3, most = 64, block = 1 << 20 };
static struct {
  int kind;
  size_t bytes;
  uint64_t identity;
} blocks[most];
static char *base;
static uint64_t made;
static long queries, checks;

static int place_of(const void *address) {
  const char *at = address;
  if (base == NULL || at < base || at >= base + (size_t)most * block) return -1;
  const int place = (int)((size_t)(at - base) / block);
  return blocks[place].kind != 0 && (size_t)(at - base) % block < blocks[place].bytes ? place : -1;
}

void *fake_allocate(int kind, size_t bytes) {
  if (base == NULL) {
    const size_t all = (size_t)most * block;
    base = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  for (int i = 0; i < most; i++) {
    if (blocks[i].kind != 0) continue;
    blocks[i].kind = kind;
    blocks[i].bytes = bytes;
    blocks[i].identity = ++made;
    return base + (size_t)i * block;
  }
  return NULL;
}
void fake_free(void *address) { blocks[place_of(address)].kind = 0; }
long fake_queries(void) { return queries; }
long fake_checks(void) { return checks; }

#if defined(FAKE_CUDA)
static int fill(void *to, int attribute, int place) {
  switch (attribute) {
  case 2:
    *(unsigned *)to = place < 0 ? 0 : blocks[place].kind == managed ? 2 : (unsigned)blocks[place].kind;
    return 0;
  case 7:
    *(unsigned long long *)to = place < 0 ? 0 : blocks[place].identity;
    return 0;
  case 8:
    *(int *)to = place >= 0 && blocks[place].kind == managed;
    return 0;
  case 11:
    *(uintptr_t *)to = place < 0 ? 0 : (uintptr_t)base + (uintptr_t)place * block;
    return 0;
  case 12:
    *(size_t *)to = place < 0 ? 0 : blocks[place].bytes;
    return 0;
  default:
    return 1;
  }
}
int cuPointerGetAttributes(unsigned count, int *attributes, void **data, uintptr_t address) {
  queries++;
  for (unsigned i = 0; i < count; i++)
    if (fill(data[i], attributes[i], place_of((void *)address)) != 0) return 1;
  return 0;
}
int cuPointerGetAttribute(void *data, int attribute, uintptr_t address) {
  checks++;
  const int place = place_of((void *)address);
  return place < 0 ? 1 : fill(data, attribute, place);
}
int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes) {
  memcpy(to, (void *)from, bytes);
  return 0;
}
int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes) {
  memcpy((void *)to, from, bytes);
  return 0;
}
#elif defined(FAKE_HIP)
struct attributes {
  int type, device_number;
  void *on_device, *on_host;
  int is_managed;
  unsigned flags;
};
int hipPointerGetAttributes(struct attributes *told, const void *address) {
  queries++;
  const int place = place_of(address);
  if (place < 0) return 1;
  memset(told, 0, sizeof *told);
#if FAKE_HIP >= 6
  told->type = blocks[place].kind;
#else
  told->type = blocks[place].kind == host ? 0 : 1;
#endif
  told->is_managed = blocks[place].kind == managed;
  return 0;
}
int hipPointerGetAttribute(void *data, int attribute, void *address) {
  checks++;
  const int place = place_of(address);
  if (place < 0 || attribute != 7) return 1;
  *(uint64_t *)data = blocks[place].identity;
  return 0;
}
int hipMemGetAddressRange(void **begin, size_t *bytes, void *address) {
  const int place = place_of(address);
  if (place < 0) return 1;
  *begin = base + (size_t)place * block;
  *bytes = blocks[place].bytes;
  return 0;
}
int hipRuntimeGetVersion(int *version) {
  *version = FAKE_HIP * 10000000;
  return 0;
}
int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  (void)kind;
  memcpy(to, from, bytes);
  return 0;
}
#else
int zeContextCreate(void *driver, const void *description, void **context) {
  (void)driver, (void)description;
  *context = &made;
  return 0;
}
struct properties {
  uint32_t structure;
  const void *next;
  uint32_t type;
  uint64_t identity, page;
};
int zeMemGetAllocProperties(void *context, const void *address, struct properties *told, void **of) {
  queries++;
  if (context != &made || told->structure != 0x17) return 1;
  const int place = place_of(address);
  told->type = place < 0 ? 0 : (uint32_t)blocks[place].kind;
  told->identity = place < 0 ? 0 : blocks[place].identity;
  *of = NULL;
  return 0;
}
#endif
