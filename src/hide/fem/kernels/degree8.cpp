#include "hide/fem/kernels/run_batches.hpp"

template haloscope::fem::kernels::Kernel haloscope::fem::kernels::kernel<8>(Shape);
