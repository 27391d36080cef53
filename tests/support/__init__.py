"""What the tests of several rooms share: the machine's MPI libraries, and programs for them."""
