// The generalised eigenproblem of two small symmetric matrices.
#pragma once

#include "hide/fem/kernels/basis.hpp"

#include <vector>

namespace haloscope::fem::kernels {

// Ascending eigenvalues of A v = λ B v, where both are symmetric about the middle, too; rows of
// `modes` so that A = modesᵀ diag(λ) modes and B = modesᵀ modes, even and odd in turn.
std::vector<double> diagonalise(const Matrix &a, const Matrix &b, Matrix &modes);

} // namespace haloscope::fem::kernels
