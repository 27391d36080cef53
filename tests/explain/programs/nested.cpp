// Calls from functions that are inlined, and from one that is not. NOLINTBEGIN(misc-*,readability-*)
#include <vector>

extern "C" void talk(int partner);

namespace deep {

template <class Value> struct Box {
  std::vector<Value> values;
  [[gnu::always_inline]] inline void give(int partner) { talk(partner); }
  [[gnu::noinline]] void twice(int partner) {
    give(partner);
    give(partner + 1);
  }
};

} // namespace deep

[[gnu::always_inline]] inline int outer(deep::Box<double> &box, int partner) {
  box.give(partner);
  talk(-partner);
  return static_cast<int>(box.values.size());
}

extern "C" [[gnu::noinline]] int in_c(deep::Box<double> &box) { return outer(box, 3) + 1; }

[[gnu::noinline]] static int hidden(deep::Box<double> &box) {
  talk(7);
  return in_c(box);
}

extern "C" [[gnu::noinline]] void talk(int partner) { asm volatile("" ::"r"(partner)); }

int main(int count, char **) {
  deep::Box<double> box;
  box.values.resize(count);
  box.twice(count);
  return hidden(box) == 0;
}
// NOLINTEND(misc-*,readability-*)
