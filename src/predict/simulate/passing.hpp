// What recorder.cpp has no wrapper of: generated ones pass the call on, and note that there was one.
#pragma once

namespace haloscope::simulate {

struct Rank;

// The simulated clock. SMPI lets the time of computing pass at the begin of the next call; let it pass
// before.
double computed();

// From before such a call to after it.
class Passed {
public:
  Passed(const char *name, bool moves_data, bool takes_time);
  ~Passed();
  Passed(const Passed &) = delete;
  Passed &operator=(const Passed &) = delete;

private:
  const char *name_;
  Rank *rank_;
  bool moves_data_;
  double start_; // negative: its time is not taken
};

} // namespace haloscope::simulate
