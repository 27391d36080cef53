// Lines of GOAL's text: per rank, operations with labels, and which of them require which.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "explain/exporting/wire.hpp"

namespace haloscope::exporting {

using Label = int64_t; // 0: none

class GoalText {
public:
  GoalText(int file, int32_t ranks) : output_(file) {
    line_ = "num_ranks ";
    append(ranks);
    end_line();
  }

  bool good() const { return output_.error() == 0; }
  int flush() { return output_.flush(); }
  Label label() const { return label_; } // of the last operation
  bool is_of_rank(Label label) const { return label >= first_label_; }

  void begin_rank(int32_t rank) {
    first_label_ = label_ + 1;
    line_ = "\nrank ";
    append(rank);
    line_ += " {";
    end_line();
  }

  void end_rank() {
    line_ = "}";
    end_line();
  }

  // The following operations are those of the rank's first thread, or of a further one.
  void first_cpu() { cpu_ = 0; }
  void next_cpu() { ++cpu_; }

  void compute(int64_t time) {
    start_line();
    line_ += "calc ";
    append(time);
    end_operation();
  }

  Label message(const char *what, int64_t bytes, const char *direction, int32_t peer, int64_t tag) {
    start_line();
    line_ += what;
    line_ += ' ';
    append(std::max<int64_t>(bytes, 1));
    line_ += 'b';
    line_ += direction;
    append(peer);
    line_ += " tag ";
    append(tag);
    end_operation();
    return label_;
  }

  void require(Label later, Label earlier) {
    line_ = "l";
    append(later - first_label_ + 1);
    line_ += " requires l";
    append(earlier - first_label_ + 1);
    end_line();
  }

private:
  void start_line() {
    ++label_;
    line_ = "l";
    append(label_ - first_label_ + 1);
    line_ += ": ";
  }

  void end_operation() {
    if (cpu_ > 0) {
      line_ += " cpu ";
      append(cpu_ % 256);
    }
    end_line();
  }

  void append(int64_t number) {
    char digits[24];
    const auto done = std::to_chars(digits, digits + sizeof digits, number);
    line_.append(digits, done.ptr);
  }

  void end_line() {
    line_ += '\n';
    output_.write(line_);
  }

  Output output_;
  std::string line_;
  Label label_ = 0, first_label_ = 1;
  int32_t cpu_ = 0;
};

} // namespace haloscope::exporting
