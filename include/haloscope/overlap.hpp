// overlap.h for C++: the object frees itself, work is anything callable.
#pragma once

#include <haloscope/overlap.h>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>

namespace haloscope {

class Overlap {
public:
  using Settings = haloscope_overlap_settings;
  using Times = haloscope_overlap_times;

  static Settings defaults() { return haloscope_overlap_defaults(); }

  // Collective; throws on all ranks if one rank's settings make no sense.
  Overlap(const Settings &settings, std::size_t items, MPI_Comm comm) {
    haloscope_overlap *made = nullptr;
    if (haloscope_overlap_create(&settings, items, comm, &made) != MPI_SUCCESS)
      throw std::invalid_argument(haloscope_overlap_error());
    overlap_.reset(made);
  }

  // `work` has independent(begin, end), dependent() and stage(which). Requests are persistent.
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

  [[nodiscard]] double alpha(int phase = 0) const { return haloscope_overlap_alpha(overlap_.get(), phase); }

private:
  struct Free {
    void operator()(haloscope_overlap *overlap) const { haloscope_overlap_free(overlap); }
  };
  std::unique_ptr<haloscope_overlap, Free> overlap_;
};

} // namespace haloscope
