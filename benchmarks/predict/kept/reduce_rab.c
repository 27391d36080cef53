// Why SimGrid's Rabenseifner reduction (`rab`, of reduce and allreduce) ends the simulation: reduce_rab TYPE
// COUNT.
//
//   smpicc reduce_rab.c -o reduce_rab
//   for what in "char 8" "byte 8" "int 0" "int 8"; do smpirun -np 4 -platform P.xml -hostfile H \
//     --cfg=smpi/reduce:rab ./reduce_rab $what; done
//
// It supports ten C types by name. Any other type, such as MPI_CHAR and MPI_SIGNED_CHAR, throws an exception
// that is not caught, and the program aborts. A count of 0 is passed to MPI_Reduce's own choice. If this is
// `rab`, it calls itself until the stack overflows. MPI_BYTE, the ninth type, is not supported by MPI_Reduce.
// MPI_INT works.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
  MPI_Init(&count, &words);
  const char *name = count > 1 ? words[1] : "char";
  MPI_Datatype type = strcmp(name, "int") == 0 ? MPI_INT : strcmp(name, "byte") == 0 ? MPI_BYTE : MPI_CHAR;
  const int number = count > 2 ? atoi(words[2]) : 8;
  int out[64] = {0};
  int in[64] = {0};
  MPI_Reduce(out, in, number, type, MPI_SUM, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%d of %s: done\n", number, name);
  MPI_Finalize();
  return 0;
}
