#include "watch/annotations/attributes.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace haloscope::watch {

namespace {

// More are not kept: a program that makes names of numbers is not to fill the memory.
constexpr std::size_t most = 8192, buckets = 1024;
constexpr std::string_view iteration = "iteration#";

std::array<std::atomic<const Attribute *>, buckets> by_name{};
std::array<std::atomic<const Attribute *>, most> by_id{};
std::atomic<cali_id_t> next_id{annotation_id + 1};

std::atomic<const Attribute *> &bucket_of(std::string_view name) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U; // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01B3U;
  return by_name[(hash ^ hash >> 32U) % buckets];
}

const Attribute *find_in(const Attribute *attribute, std::string_view name) noexcept {
  while (attribute != nullptr && name != attribute->name) attribute = attribute->next;
  return attribute;
}

bool is_iteration(std::string_view name) noexcept { return name.starts_with(iteration); }

Meaning meaning_of(std::string_view name, cali_attr_type type, int properties) noexcept {
  if ((properties & CALI_ATTR_GLOBAL) != 0) return Meaning::of_the_run;
  if (is_iteration(name)) return Meaning::attribute_names_region;
  if ((properties & (CALI_ATTR_ASVALUE | CALI_ATTR_HIDDEN | CALI_ATTR_UNALIGNED)) != 0)
    return Meaning::number;
  return type == CALI_TYPE_STRING ? Meaning::value_names_region : Meaning::attribute_names_region;
}

const Attribute *make_in(std::atomic<const Attribute *> &bucket, std::string_view name, cali_attr_type type,
                         int properties, cali_id_t id) noexcept {
  auto *made = new (std::nothrow) Attribute{};
  char *copy = static_cast<char *>(std::malloc(name.size() + 1));
  if (made == nullptr || copy == nullptr || id >= most) {
    delete made;
    std::free(copy);
    return nullptr;
  }
  name.copy(copy, name.size());
  copy[name.size()] = '\0';
  *made = {copy, id, type, properties, meaning_of(name, type, properties), nullptr};
  by_id[id].store(made, std::memory_order_release);
  const Attribute *first = bucket.load(std::memory_order_acquire);
  do { // another thread may make the same one
    if (const Attribute *theirs = find_in(first, name)) {
      by_id[id].store(nullptr, std::memory_order_release);
      std::free(copy);
      delete made;
      return theirs;
    }
    made->next = first;
  } while (!bucket.compare_exchange_weak(first, made, std::memory_order_acq_rel));
  return made;
}

bool make_predefined() noexcept {
  struct Given {
    cali_id_t id;
    const char *name;
  };
  for (const auto &[id, name] :
       {Given{region_id, "region"}, Given{phase_id, "phase"}, Given{comm_region_id, "comm.region"},
        Given{loop_id, "loop"}, Given{function_id, "function"}, Given{annotation_id, "annotation"}})
    make_in(bucket_of(name), name, CALI_TYPE_STRING, CALI_ATTR_NESTED, id);
  return true;
}

// Before anything is looked up: markers run before our constructors do.
void have_predefined() noexcept { [[maybe_unused]] static const bool made = make_predefined(); }

const Attribute *find_or_make(std::string_view name, cali_attr_type type, int properties) noexcept {
  have_predefined();
  std::atomic<const Attribute *> &bucket = bucket_of(name);
  if (const Attribute *known = find_in(bucket.load(std::memory_order_acquire), name)) return known;
  return make_in(bucket, name, type, properties, next_id.fetch_add(1, std::memory_order_relaxed));
}

} // namespace

const Attribute *find_attribute(const char *name) noexcept {
  have_predefined();
  return find_in(bucket_of(name).load(std::memory_order_acquire), name);
}

const Attribute *find_attribute(cali_id_t id) noexcept {
  if (id >= most) return nullptr;
  const Attribute *known = by_id[id].load(std::memory_order_acquire);
  if (__builtin_expect(known == nullptr, 0)) {
    have_predefined();
    return by_id[id].load(std::memory_order_acquire);
  }
  return known;
}

const Attribute *make_attribute(const char *name, cali_attr_type type, int properties) noexcept {
  return find_or_make(name, type, properties);
}

const Attribute *make_iteration(const char *loop) noexcept {
  std::array<char, 512> name;
  const int length = std::snprintf(name.data(), name.size(), "iteration#%s", loop);
  if (length < 0) return nullptr;
  return find_or_make(name.data(), CALI_TYPE_INT, CALI_ATTR_ASVALUE);
}

} // namespace haloscope::watch
