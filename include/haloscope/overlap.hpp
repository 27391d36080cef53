// overlap.h for C++: the object frees itself, and work is an object with member functions. Rules for threads
// are in overlap.h.
#pragma once

#include <haloscope/overlap.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <istream>
#include <locale>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace haloscope {

// A model of regimes that owns its numbers. The constructor of Overlap checks their values.
class Regimes {
public:
  // Reads a model: "family lognormal start 0.5 0.5 transition …", and "blocks …", "input …" or "output …".
  //
  // @throws std::invalid_argument for an unknown family, a word in a wrong place, or a wrong number of
  // values.
  static Regimes read(std::istream &text) {
    Regimes made;
    std::vector<double> *to = nullptr;
    for (std::string word; text >> word;) {
      if (word == "family") {
        text >> word;
        made.family_ = family(word);
      } else if (const auto *const at = std::ranges::find(sections, word); at != sections.end()) {
        to = &made.numbers_[static_cast<std::size_t>(at - sections.begin())];
      } else {
        append(to, word);
      }
    }
    const std::size_t count = made.numbers_[0].size();
    const auto complete = [&](std::size_t section, std::size_t size) {
      if (section >= 2 && made.numbers_[section].empty()) return;
      if (made.numbers_[section].size() != size)
        fail("there must be " + std::to_string(size) + " numbers", sections[section]);
    };
    complete(1, count * count);
    for (std::size_t section = 2; section < sections.size(); section++) complete(section, 3 * count);
    return made;
  }

  // @return the model for Settings::regimes, valid as long as this object.
  [[nodiscard]] haloscope_overlap_regimes view() const {
    const auto pointer = [&](std::size_t i) { return numbers_[i].empty() ? nullptr : numbers_[i].data(); };
    return {family_,   static_cast<int>(numbers_[0].size()), pointer(0), pointer(1), pointer(2), pointer(3),
            pointer(4)};
  }

private:
  static constexpr std::array<std::string_view, 5> sections{"start", "transition", "blocks", "input",
                                                            "output"};

  [[noreturn]] static void fail(const std::string &what, std::string_view where) {
    throw std::invalid_argument("overlap: regimes: " + what + ": " + std::string(where));
  }
  static haloscope_overlap_family family(const std::string &name) {
    constexpr std::array<std::string_view, 4> names{"gaussian", "lognormal", "gamma", "student"};
    const auto *const found = std::ranges::find(names, name);
    if (found == names.end()) fail("there is no such family", name);
    return static_cast<haloscope_overlap_family>(found - names.begin());
  }
  static void append(std::vector<double> *to, const std::string &word) {
    std::istringstream digits(word);
    digits.imbue(std::locale::classic()); // the program may have chosen another
    double number = 0;
    if (to == nullptr || !(digits >> number) || !digits.eof()) fail("neither a section nor a number", word);
    to->push_back(number);
  }

  haloscope_overlap_family family_ = HALOSCOPE_OVERLAP_LOGNORMAL;
  std::array<std::vector<double>, sections.size()> numbers_;
};

class Overlap {
public:
  using Settings = haloscope_overlap_settings;
  using Times = haloscope_overlap_times;

  static Settings defaults() { return haloscope_overlap_defaults(); }

  // Collective over `comm`.
  //
  // @param items  independent items of this rank.
  // @throws std::invalid_argument on all ranks if the settings of one are wrong.
  Overlap(const Settings &settings, std::size_t items, MPI_Comm comm) {
    haloscope_overlap *made = nullptr;
    if (haloscope_overlap_create(&settings, items, comm, &made) != MPI_SUCCESS)
      throw std::invalid_argument(haloscope_overlap_error());
    overlap_.reset(made);
  }

  // One application of the operator.
  //
  // @param work   has independent(begin, end), dependent() and stage(stage). They must not throw.
  // @param phase  from 0.
  // @return the times of the run. The requests must be persistent.
  // @throws std::runtime_error for errors of MPI and an unknown phase.
  template <class Work>
  Times run(Work &work, std::span<MPI_Request> input_receives, std::span<MPI_Request> input_sends,
            std::span<MPI_Request> output_receives, std::span<MPI_Request> output_sends, int phase = 0) {
    const haloscope_overlap_pattern pattern{
        &work,
        [](void *context, std::size_t begin, std::size_t end) {
          static_cast<Work *>(context)->independent(begin, end);
        },
        [](void *context) { static_cast<Work *>(context)->dependent(); },
        [](void *context, haloscope_overlap_stage stage) { static_cast<Work *>(context)->stage(stage); },
        {input_receives.data(), static_cast<int>(input_receives.size()), input_sends.data(),
         static_cast<int>(input_sends.size()), nullptr},
        {output_receives.data(), static_cast<int>(output_receives.size()), output_sends.data(),
         static_cast<int>(output_sends.size()), nullptr}};
    Times times{};
    if (haloscope_overlap_run(overlap_.get(), phase, &pattern, &times) != MPI_SUCCESS)
      throw std::runtime_error(haloscope_overlap_error());
    return times;
  }

  // With settings.partners: haloscope_overlap_waited.
  [[nodiscard]] double waited(int receive, int phase = 0) const {
    return haloscope_overlap_waited(overlap_.get(), phase, receive);
  }
  void partner_waited(double seconds, int phase = 0) {
    haloscope_overlap_partner_waited(overlap_.get(), phase, seconds);
  }

  [[nodiscard]] double alpha(int phase = 0) const { return haloscope_overlap_alpha(overlap_.get(), phase); }

private:
  struct Free {
    void operator()(haloscope_overlap *overlap) const { haloscope_overlap_free(overlap); }
  };
  std::unique_ptr<haloscope_overlap, Free> overlap_;
};

} // namespace haloscope
