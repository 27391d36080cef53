// Limits of one core while the other core runs the same code: STREAM's triad from memory, and multiply-adds
// in registers. They run alternately with the kernels. Argument: doubles per vector.
#include "peers/turns.hpp"

#include <array>
#include <cstdlib>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr std::size_t lanes = 8;
#elif defined(__AVX__)
constexpr std::size_t lanes = 4;
#else
constexpr std::size_t lanes = 2;
#endif
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

volatile double sink = 0; // NOLINT: keeps the results alive

// Three vectors, far larger than the caches.
struct Triad {
  explicit Triad(std::size_t size) : a(size, 1), b(size, 2), c(size, 3) {}
  void operator()() {
    const double scale = 0.5 + sink;
    double *to = a.data();
    const double *from = b.data(), *other = c.data();
    for (std::size_t i = 0; i < a.size(); i++) to[i] = from[i] + scale * other[i];
    sink = 0 * to[a.size() / 2];
  }
  // A write also reads the cache line.
  [[nodiscard]] double bytes() const { return 4.0 * sizeof(double) * static_cast<double>(a.size()); }
  std::vector<double> a, b, c;
};

constexpr std::size_t chains = 16;
constexpr int steps = 1 << 18;

void multiply_add() {
  std::array<Lanes, chains> values{};
  for (std::size_t i = 0; i < chains; i++) values[i] += static_cast<double>(i) + 0.1;
  const Lanes factor = Lanes{} + (0.999 + sink), term = Lanes{} + 0.001;
  for (int step = 0; step < steps; step++)
    for (Lanes &value : values) value = value * factor + term;
  double sum = 0;
  for (const Lanes &value : values) sum += value[0];
  sink = 0 * sum;
}

} // namespace

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const std::size_t size = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 25;
  Triad triad(size);
  turns::serve({{"triad", {[&] { triad(); }, 0, 2.0 * static_cast<double>(size), triad.bytes()}},
                {"multiply-add", {multiply_add, 0, 2.0 * chains * lanes * steps, 0}}});
  MPI_Finalize();
  return 0;
}
