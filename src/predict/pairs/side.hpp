// One side of a pair of ranks, and the timed loops.
//
// The harness may cost one hundredth of the measured time: the clock is read once per batch of iterations
// that take 200 times as long as reading it.
#pragma once

#include "predict/pairs/rank.hpp"

#include <algorithm>
#include <cmath>
#include <new>

namespace pairs {

using Samples = std::vector<double>;

struct Method {
  long long iterations = 1000;
  long long warmup = 100;
  int window = 64;
  double clock = 25e-9; // seconds of one reading
};

struct Element {
  MPI_Datatype type = MPI_CHAR;
  MPI_Datatype added = MPI_SIGNED_CHAR;
  long long width = 1;

  static Element of(const std::string &name) {
    if (name == "mpi_int") return {MPI_INT, MPI_INT, sizeof(int)};
    if (name == "mpi_float") return {MPI_FLOAT, MPI_FLOAT, sizeof(float)};
    return {};
  }
};

class Buffer {
public:
  explicit Buffer(size_t bytes) : bytes_(std::max<size_t>(bytes, 1)) {
    // Touched now, by the processor that will use it.
    memory_ = static_cast<char *>(::operator new(bytes_, std::align_val_t{4096}, std::nothrow));
    if (memory_) std::memset(memory_, 1, bytes_);
  }
  ~Buffer() { ::operator delete(memory_, std::align_val_t{4096}); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  [[nodiscard]] char *get() const { return memory_; }

private:
  size_t bytes_;
  char *memory_;
};

class Side {
public:
  Side(int partner, bool leads, const Element &element, char *out, char *in)
      : partner_(partner), leads_(leads), element_(element), out_(out), in_(in) {}

  void resize(long long bytes) { count_ = static_cast<int>(bytes / element_.width); }
  [[nodiscard]] bool leads() const { return leads_; }

  // There and back.
  Samples latency(const Method &method) {
    return timed(method, 2, [this] { leads_ ? (send(), receive()) : (receive(), send()); });
  }

  // A window of messages one way, then a word back.
  Samples bandwidth(const Method &method) {
    requests_.resize(static_cast<size_t>(method.window));
    return timed(method, method.window, [this] {
      leads_ ? (start_sends(0), finish(), wait()) : (start_receives(0), finish(), nod());
    });
  }

  // The same, every window by itself, without agreeing on anything.
  Samples windows(const Method &method) {
    requests_.resize(static_cast<size_t>(method.window));
    const auto body = [this] {
      leads_ ? (start_sends(0), finish(), wait()) : (start_receives(0), finish(), nod());
    };
    for (long long i = 0; i < method.warmup; i++) body();
    return loop(method.iterations, 1, method.window, body);
  }

  // A window of messages both ways at once.
  Samples both_ways(const Method &method) {
    requests_.resize(2 * static_cast<size_t>(method.window));
    return timed(method, method.window, [this] {
      const size_t half = requests_.size() / 2;
      start_receives(half);
      start_sends(half);
      finish();
    });
  }

  // Adding one buffer to the other, by the leader.
  Samples reduce(const Method &method) {
    if (!leads_) return {};
    const auto add = [this] { MPI_Reduce_local(out_, in_, count_, element_.added, MPI_SUM); };
    for (long long i = 0; i < method.warmup; i++) add();
    const long long batch = batch_of(method, add);
    return loop(method.iterations / batch + 1, batch, 1, add);
  }

  // Time in MPI_Send with the receive posted, and in MPI_Recv with the message there (as far as it is
  // sent without being asked for), less the clock's own time. The second is the partner's.
  void overheads(const Method &method, Samples &sends, Samples &receives) {
    const double pause = agreed(leads_ ? 3 * probe(method) + 2e-6 : (probe(method), 0));
    const long long all = method.warmup + method.iterations;
    for (long long i = 0; i < all; i++) {
      const double sent = leads_ ? send_overhead() : (receive_posted(), 0);
      const double received = leads_ ? (wait(), send(), 0) : receive_overhead(pause);
      if (i >= method.warmup) {
        sends.push_back(std::max(sent - method.clock, 0.0));
        receives.push_back(std::max(received - method.clock, 0.0));
      }
    }
    const int count = static_cast<int>(receives.size());
    if (leads_) {
      MPI_Recv(receives.data(), count, MPI_DOUBLE, partner_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(receives.data(), count, MPI_DOUBLE, partner_, tag, MPI_COMM_WORLD);
    }
  }

  // Whether messages arrive correctly in both directions. The leader knows the result.
  bool check(long long bytes) {
    fill(out_, bytes, leads_ ? 7 : 77);
    std::memset(in_, 0, static_cast<size_t>(bytes));
    leads_ ? (send(), receive()) : (receive(), send());
    int right = holds(in_, bytes, leads_ ? 77 : 7) ? 1 : 0;
    int other = 0;
    MPI_Sendrecv(&right, 1, MPI_INT, partner_, tag, &other, 1, MPI_INT, partner_, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return right + other == 2;
  }

  [[nodiscard]] long long batch() const { return batch_; }

private:
  static constexpr int data_tag = 1;
  static constexpr double share = 200; // a batch takes so many times as long as reading the clock

  void send() { MPI_Send(out_, count_, element_.type, partner_, data_tag, MPI_COMM_WORLD); }
  void receive() {
    MPI_Recv(in_, count_, element_.type, partner_, data_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void nod() const { MPI_Send(nullptr, 0, MPI_CHAR, partner_, tag, MPI_COMM_WORLD); }
  void wait() const { MPI_Recv(nullptr, 0, MPI_CHAR, partner_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

  void start_sends(size_t from) {
    for (size_t i = from; i < requests_.size(); i++)
      MPI_Isend(out_, count_, element_.type, partner_, data_tag, MPI_COMM_WORLD, &requests_[i]);
  }
  void start_receives(size_t before) {
    const size_t end = before ? before : requests_.size();
    for (size_t i = 0; i < end; i++)
      MPI_Irecv(in_, count_, element_.type, partner_, data_tag, MPI_COMM_WORLD, &requests_[i]);
  }
  void finish() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }

  double agreed(double value) const {
    if (leads_) {
      MPI_Send(&value, 1, MPI_DOUBLE, partner_, tag, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&value, 1, MPI_DOUBLE, partner_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return value;
  }

  template <class Body> Samples timed(const Method &method, int messages, Body body) {
    for (long long i = 0; i < method.warmup; i++) body();
    batch_ = std::lround(agreed(static_cast<double>(batch_of(method, body))));
    return loop((method.iterations + batch_ - 1) / batch_, batch_, messages, body);
  }

  // Both sides do the same number of iterations here; the leader's figure counts.
  template <class Body> static long long batch_of(const Method &method, Body body) {
    constexpr int tries = 10;
    const double start = now();
    for (int i = 0; i < tries; i++) body();
    const double one = std::max((now() - start) / tries, 1e-9);
    const double wanted = std::ceil(share * method.clock / one);
    const auto most = static_cast<double>(std::max(method.iterations / 10, 1LL));
    return static_cast<long long>(std::clamp(wanted, 1.0, most));
  }

  template <class Body> static Samples loop(long long samples, long long batch, int messages, Body body) {
    Samples all(static_cast<size_t>(samples));
    double last = now();
    for (auto &sample : all) {
      for (long long i = 0; i < batch; i++) body();
      const double time = now();
      sample = (time - last) / static_cast<double>(batch * messages);
      last = time;
    }
    return all;
  }

  double probe(const Method &method) {
    Method short_one = method;
    short_one.iterations = 10;
    short_one.warmup = 2;
    const Samples all = latency(short_one);
    return *std::ranges::min_element(all);
  }

  double send_overhead() {
    wait();
    const double start = now();
    send();
    return now() - start;
  }
  void receive_posted() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(in_, count_, element_.type, partner_, data_tag, MPI_COMM_WORLD, &request);
    nod();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  double receive_overhead(double pause) {
    nod();
    for (const double start = now(); now() - start < pause;) {
    }
    const double start = now();
    receive();
    return now() - start;
  }

  static void fill(char *buffer, long long bytes, int seed) {
    for (long long i = 0; i < bytes; i++) buffer[i] = static_cast<char>(i * 31 + seed);
  }
  static bool holds(const char *buffer, long long bytes, int seed) {
    for (long long i = 0; i < bytes; i++)
      if (buffer[i] != static_cast<char>(i * 31 + seed)) return false;
    return true;
  }

  int partner_;
  bool leads_;
  Element element_;
  char *out_;
  char *in_;
  int count_ = 0;
  long long batch_ = 1;
  std::vector<MPI_Request> requests_;
};

} // namespace pairs
