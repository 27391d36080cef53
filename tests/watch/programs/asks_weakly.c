/* A library that is used with and without MPI. */
extern int MPI_Initialized(int *flag) __attribute__((weak));

int is_running(void) {
  int flag = 0;
  if (MPI_Initialized) MPI_Initialized(&flag);
  return flag;
}
