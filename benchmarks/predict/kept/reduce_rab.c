// Why SimGrid's Rabenseifner reduction (`rab`, of reduce and allreduce) ends the simulation, or is wrong:
// reduce_rab TYPE COUNT.
//
//   smpicc reduce_rab.c -o reduce_rab
//   for what in "char 8" "byte 8" "int 0" "int 8" "own 8"; do smpirun -np 4 -platform P.xml -hostfile H \
//     --cfg=smpi/reduce:rab ./reduce_rab $what; done
//
// It supports ten C types by name. Any other type, such as MPI_CHAR and MPI_SIGNED_CHAR, throws an exception
// that is not caught, and the program aborts. A count of 0 is passed to MPI_Reduce's own choice. If this is
// `rab`, it calls itself until the stack overflows. MPI_BYTE, the ninth type, is not supported by MPI_Reduce.
// MPI_INT works. With an operation of the user ("own", a sum), `rab` computes the maximum.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  const char *name = count > 1 ? words[1] : "char";
  const int own = strcmp(name, "own") == 0;
  MPI_Datatype type = own || strcmp(name, "int") == 0 ? MPI_INT
                      : strcmp(name, "byte") == 0     ? MPI_BYTE
                                                      : MPI_CHAR;
  const int number = count > 2 ? atoi(words[2]) : 8;
  int one[64];
  int sum[64] = {0};
  for (int i = 0; i < 64; i++) one[i] = 1;
  MPI_Op op = MPI_SUM;
  if (own) MPI_Op_create(add, 1, &op);
  MPI_Reduce(one, sum, number, type, op, 0, MPI_COMM_WORLD);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) printf("%d of %s: done, the sum of %d ones is %d\n", number, name, ranks, sum[0]);
  MPI_Finalize();
  return 0;
}
