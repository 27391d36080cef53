"""What several rooms' tests share: the MPI libraries of this machine, and programs built with them."""
