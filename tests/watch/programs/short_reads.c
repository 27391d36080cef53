/* short_reads FILE KIND: reads a thousand numbers from a file of ten, in one of MPI's ways, and prints how
   many there were. */
#include "common.h"

static int data[1000];

static int begins(const char *kind, const char *with) { return strncmp(kind, with, strlen(with)) == 0; }

int main(int argc, char **argv) {
  const char *kind = argv[2];
  int count = -1, flag = 0;
  MPI_File file;
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  start(&argc, &argv);
  MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  REGION("write") MPI_File_write_at(file, 0, data, 10, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  HALOSCOPE_REGION_BEGIN("read");
  if (!strcmp(kind, "read")) MPI_File_read(file, data, 1000, MPI_INT, &status);
  if (!strcmp(kind, "read_at")) MPI_File_read_at(file, 0, data, 1000, MPI_INT, &status);
  if (!strcmp(kind, "read_all")) MPI_File_read_all(file, data, 1000, MPI_INT, &status);
  if (!strcmp(kind, "read_at_all")) MPI_File_read_at_all(file, 0, data, 1000, MPI_INT, &status);
  if (!strcmp(kind, "split")) {
    MPI_File_read_at_all_begin(file, 0, data, 1000, MPI_INT);
    MPI_File_read_at_all_end(file, data, &status);
  }
  if (begins(kind, "iread")) MPI_File_iread_at(file, 0, data, 1000, MPI_INT, &request);
  if (!strcmp(kind, "iread, test"))
    while (!flag) MPI_Test(&request, &flag, &status);
  if (begins(kind, "iread") && flag == 0) MPI_Waitall(1, &request, &status);
  HALOSCOPE_REGION_END("read");
  MPI_Get_count(&status, MPI_INT, &count);
  MPI_File_close(&file);
  MPI_Finalize();
  printf("%d\n", count);
  return 0;
}
