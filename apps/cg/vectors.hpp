// What conjugate gradients do with whole vectors.
#ifndef APPS_CG_VECTORS_HPP
#define APPS_CG_VECTORS_HPP

#include "field.hpp"

namespace cg {

// The dot product over all ranks.
double dot(const Field &a, const Field &b);

// y = x + factor · y, and y = y + factor · x.
void scale_then_add(double factor, const Field &x, Field &y);
void add_scaled(double factor, const Field &x, Field &y);

} // namespace cg

#endif
