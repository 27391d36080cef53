// Calls from lines that the comments name: put into others by the compiler, in a template, through a library.
// The functions have the names that people see.
// NOLINTBEGIN(misc-use-internal-linkage,misc-use-anonymous-namespace,readability-redundant-inline-specifier)
#include <mpi.h>
#include <vector>

#ifdef LIBRARY
extern "C" void sum_up(const double *in, double *out) {
  MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); // in the library
  asm volatile("");                                               // so that it is not left by a jump
}
#else
extern "C" void sum_up(const double *in, double *out);

template <class Value> struct Field {
  std::vector<Value> values;
  [[gnu::always_inline]] inline void exchange(int partner) {
    const int count = static_cast<int>(values.size());
    MPI_Sendrecv_replace(values.data(), count, MPI_DOUBLE, partner, 1, partner, 1, MPI_COMM_WORLD, // exchange
                         MPI_STATUS_IGNORE);
  }
};

[[gnu::noinline]] static void step(Field<double> &field, int partner) {
  field.exchange(partner); // step
  double sum = 0;
  sum_up(field.values.data(), &sum); // sum
  field.values[0] = sum;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Field<double> field{std::vector<double>(100, 1.0)};
  for (int i = 0; i < 50; i++) step(field, size > 1 ? 1 - rank : rank); // main
  MPI_Barrier(MPI_COMM_WORLD);                                          // barrier
  MPI_Finalize();
  return 0;
}
#endif
// NOLINTEND(misc-use-internal-linkage,misc-use-anonymous-namespace,readability-redundant-inline-specifier)
