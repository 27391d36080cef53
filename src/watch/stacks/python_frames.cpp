#include "watch/stacks/python_frames.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace haloscope::watch {

namespace {

template <class Function> void look_up(Function &function, const char *name) noexcept {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name)); // NOLINT(modernize-use-auto)
}

std::uint64_t hash_of_frames(const Stack *below, const std::vector<std::uintptr_t> &frames) noexcept {
  auto hash = reinterpret_cast<std::uintptr_t>(below);
  for (const std::uintptr_t word : frames) hash = hash_of(hash ^ word);
  return hash;
}

} // namespace

bool PythonFrames::look_for() {
  if (looked_) return is_there_;
  looked_ = true;
  look_up(python_.is_initialized, "Py_IsInitialized");
  look_up(python_.this_thread, "PyGILState_GetThisThreadState");
  look_up(python_.take, "PyGILState_Ensure");
  look_up(python_.give_back, "PyGILState_Release");
  look_up(python_.frame, "PyEval_GetFrame");
  look_up(python_.back, "PyFrame_GetBack");
  look_up(python_.code, "PyFrame_GetCode");
  look_up(python_.line, "PyFrame_GetLineNumber");
  look_up(python_.place, "PyFrame_GetLasti");
  look_up(python_.attribute, "PyObject_GetAttrString");
  look_up(python_.text, "PyUnicode_AsUTF8");
  look_up(python_.release, "Py_DecRef");
  look_up(python_.clear_error, "PyErr_Clear");
  is_there_ = python_.is_initialized != nullptr && python_.this_thread != nullptr &&
              python_.take != nullptr && python_.give_back != nullptr && python_.frame != nullptr &&
              python_.back != nullptr && python_.code != nullptr && python_.line != nullptr &&
              python_.attribute != nullptr && python_.text != nullptr && python_.release != nullptr &&
              python_.clear_error != nullptr;
  if (!is_there_) return false;
  code_ = extent_around(reinterpret_cast<std::uintptr_t>(python_.frame));
  return true;
}

bool PythonFrames::is_interpreter(std::uintptr_t address) { return look_for() && code_.contains(address); }

// Innermost first. The first frame is borrowed, the others and all code are ours.
void PythonFrames::collect(unsigned wanted) {
  frames_.clear();
  codes_.clear();
  words_.clear();
  for (Object *frame = python_.frame(); frame != nullptr; frame = python_.back(frame)) {
    frames_.push_back(frame);
    if (codes_.size() == wanted) break;
    codes_.push_back(python_.code(frame));
    words_.push_back(reinterpret_cast<std::uintptr_t>(codes_.back()));
    const auto place = python_.place != nullptr ? python_.place : python_.line;
    words_.push_back(static_cast<std::uintptr_t>(place(frame)));
  }
}

const Stack *PythonFrames::find(std::uint64_t hash, const Stack *below) const {
  const auto [first, last] = known_.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (known->second.below == below && known->second.frames == words_) return known->second.whole;
  return nullptr;
}

// Tabs and lines are the file format's.
void PythonFrames::append(std::string &to, Object *code, const char *attribute) const {
  Object *value = python_.attribute(code, attribute);
  const char *text = value == nullptr ? nullptr : python_.text(value);
  for (const char *c = text == nullptr ? "?" : text; *c != '\0'; c++)
    to += *c == '\t' || *c == '\n' ? ' ' : *c;
  if (value != nullptr) python_.release(value);
  python_.clear_error();
}

std::string PythonFrames::describe(std::size_t frame) const {
  std::string text = "python\t";
  append(text, codes_[frame], "co_filename");
  text += "\t" + std::to_string(python_.line(frames_[frame])) + "\t";
  append(text, codes_[frame], "co_name");
  return text;
}

const Stack *PythonFrames::on(const Stack *below, unsigned depth, const Make &make) {
  if (python_.is_initialized() == 0 || python_.this_thread() == nullptr) return below;
  const int lock = python_.take();
  collect(depth > below->count ? depth - below->count : 1);
  const std::uint64_t hash = hash_of_frames(below, words_);
  const Stack *whole = codes_.empty() ? below : find(hash, below);
  if (whole == nullptr) {
    std::string text;
    for (std::size_t i = 0; i < codes_.size(); i++) text += (i == 0 ? "" : "\n") + describe(i);
    whole = make(text);
    if (whole != nullptr) {
      known_.emplace(hash, Known{below, whole, words_});
      codes_.clear(); // kept, so that no other code gets their addresses
    }
  }
  for (Object *code : codes_) python_.release(code);
  for (std::size_t i = 1; i < frames_.size(); i++) python_.release(frames_[i]);
  python_.give_back(lock);
  return whole;
}

} // namespace haloscope::watch
