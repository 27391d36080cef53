// PETSc: stages and events of its log are regions, and exchanges among them communication regions, whether or
// not the program asks for -log_view, which stays as it is.
//
// PETSc up to 3.19 calls two functions at each event, which PetscLogSet sets; ours call those that were set
// before. Since 3.20 it has handlers, to which PetscLogLegacyCallbacksBegin adds ours. Both have names of
// events and stages from where they are registered. PETSc's log begins with a push of its main stage, within
// PetscInitialize. A program that links PETSc statically calls past us.
#include "watch/annotations/annotating.hpp"
#include "watch/annotations/following.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace haloscope::watch {

using Callback = int (*)(int event, int, void *, void *, void *, void *);

namespace {

constexpr std::uint64_t stages = std::uint64_t{1} << 55U;

bool is_enabled() noexcept {
  static const bool is = is_wanted(Interface::petsc);
  return is;
}

// PETSc pads some names for its table.
const char *copy_trimmed(std::string_view name) noexcept {
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string_view::npos) return nullptr;
  return strndup(name.data() + first, name.find_last_not_of(' ') + 1 - first);
}

// Names by number, from 0. PETSc 3.18 with all of its packages has about 300 events. Events with larger
// numbers are "(other)".
class EventNames {
public:
  void set(int number, const char *name) noexcept {
    if (number >= 0 && number < most && name != nullptr)
      names_[static_cast<unsigned>(number)].store(copy_trimmed(name), std::memory_order_release);
  }
  [[nodiscard]] const char *of(int number) const noexcept {
    const char *name = nullptr;
    if (number >= 0 && number < most)
      name = names_[static_cast<unsigned>(number)].load(std::memory_order_acquire);
    return name == nullptr ? other_annotations : name;
  }

private:
  static constexpr int most = 4096;
  std::array<std::atomic<const char *>, most> names_{};
};
EventNames event_names, stage_names;

// Scatters of vectors and the star forests that they are made of.
bool is_exchange(std::string_view name) noexcept {
  if (name.starts_with("VecScatter")) return true;
  return name.starts_with("SFBcast") || name.starts_with("SFReduce") || name.starts_with("SFFetch");
}

// Callbacks that the program or PETSc has set, also before there is a log.
std::atomic<Callback> begin_before{nullptr}, end_before{nullptr};

int event_began(int event, int zero, void *a, void *b, void *c, void *d) {
  const char *name = event_names.of(event);
  begin_annotation(kind_of(Interface::petsc, static_cast<std::uint64_t>(event)), name, is_exchange(name));
  const Callback before = begin_before.load(std::memory_order_relaxed);
  return before == nullptr ? 0 : before(event, zero, a, b, c, d);
}
int event_ended(int event, int zero, void *a, void *b, void *c, void *d) {
  const Callback before = end_before.load(std::memory_order_relaxed);
  const int result = before == nullptr ? 0 : before(event, zero, a, b, c, d);
  end_annotation(kind_of(Interface::petsc, static_cast<std::uint64_t>(event)));
  return result;
}

constinit Following<int (*)(Callback, Callback)> next_log_set{"PetscLogSet"};
constinit Following<int (*)(const char *, int, int *)> next_event_register{"PetscLogEventRegister"};
constinit Following<int (*)(const char *, int *)> next_stage_register{"PetscLogStageRegister"};
constinit Following<int (*)(int)> next_stage_push{"PetscLogStagePush"};
constinit Following<int (*)()> next_stage_pop{"PetscLogStagePop"};

// From when the log can be used until PETSc takes its callbacks away, in PetscFinalize.
std::atomic<bool> is_listening{false};
std::atomic<unsigned> stage_depth{0};

void listen(const void *caller) noexcept {
  if (is_listening.exchange(true)) return;
  note_use(Interface::petsc);
  if (void *add = find_following("PetscLogLegacyCallbacksBegin", caller)) {
    reinterpret_cast<int (*)(Callback, Callback, void *, void *)>(add)(event_began, event_ended, nullptr,
                                                                       nullptr);
    return;
  }
  next_log_set(caller, event_began, event_ended);
}

} // namespace

} // namespace haloscope::watch

using namespace haloscope::watch;

extern "C" {
#define HALOSCOPE_EXPORT __attribute__((visibility("default")))

HALOSCOPE_EXPORT int PetscLogSet(Callback begin, Callback end) {
  const void *caller = __builtin_return_address(0);
  begin_before = begin;
  end_before = end;
  // PETSc 3.18 looks into its log before it calls, and says so when it gives it up.
  if (begin == nullptr && end == nullptr) {
    is_listening = false;
    stage_depth = 0;
  }
  if (!is_listening) return next_log_set(caller, begin, end);
  return next_log_set(caller, event_began, event_ended);
}

HALOSCOPE_EXPORT int PetscLogEventRegister(const char *name, int of_class, int *event) {
  const int result = next_event_register(__builtin_return_address(0), name, of_class, event);
  if (result == 0 && event != nullptr && is_enabled()) event_names.set(*event, name);
  return result;
}

HALOSCOPE_EXPORT int PetscLogStageRegister(const char *name, int *stage) {
  const int result = next_stage_register(__builtin_return_address(0), name, stage);
  if (result == 0 && stage != nullptr && is_enabled()) stage_names.set(*stage, name);
  return result;
}

// The main stage is the whole program: PETSc's own push of it is no region.
HALOSCOPE_EXPORT int PetscLogStagePush(int stage) {
  const void *caller = __builtin_return_address(0);
  const int result = next_stage_push(caller, stage);
  if (result != 0 || !is_enabled()) return result;
  listen(caller);
  if (stage_depth++ > 0)
    begin_annotation(kind_of(Interface::petsc, stages), stage == 0 ? "Main Stage" : stage_names.of(stage));
  return result;
}

HALOSCOPE_EXPORT int PetscLogStagePop() {
  if (is_enabled() && stage_depth > 0) {
    if (--stage_depth > 0)
      end_annotation(kind_of(Interface::petsc, stages));
    else
      is_listening = false; // PETSc 3.20 gives its handlers up
  }
  return next_stage_pop(__builtin_return_address(0));
}
}
