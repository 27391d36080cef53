// Conjugate gradients with fewer or hidden reductions.
#ifndef APPS_CG_AVOIDING_HPP
#define APPS_CG_AVOIDING_HPP

#include "solver.hpp"

namespace cg {

// One non-blocking reduction per iteration, during the preconditioner and the product: Ghysels and Vanroose,
// "Hiding global synchronization latency in the preconditioned conjugate gradient algorithm", Parallel
// Computing 40 (2014), Algorithm 4.
Outcome solve_pipelined(const Field &b, Field &x, Halo &halo, Multigrid *preconditioner, Stop stop,
                        const Observer &observe);

// One reduction per `steps` iterations, which are taken together: Chronopoulos and Gear, "s-step iterative
// methods for symmetric linear systems", Journal of Computational and Applied Mathematics 25 (1989).
// `observe` is called after each block of them.
Outcome solve_s_step(const Field &b, Field &x, Halo &halo, Multigrid *preconditioner, int steps, Stop stop,
                     const Observer &observe);

} // namespace cg

#endif
