#include "predict/simulate/passing.hpp"

#include "predict/simulate/counts.hpp"

#include <simgrid/engine.h>
#include <smpi/smpi.h>

namespace haloscope::simulate {

double computed() {
  smpi_bench_end();
  smpi_bench_begin();
  return simgrid_get_clock();
}

Passed::Passed(const char *name, bool moves_data, bool takes_time)
    : name_(name), rank_(entered()), moves_data_(moves_data),
      start_(takes_time && rank_ != nullptr ? computed() : -1) {}

Passed::~Passed() {
  if (rank_ == nullptr) return;
  rank_->inside = false;
  if (moves_data_) world().unaccounted[name_]++;
  rank_->call(name_, Kind::other, 0, start_ < 0 ? 0 : simgrid_get_clock() - start_, false);
}

} // namespace haloscope::simulate
