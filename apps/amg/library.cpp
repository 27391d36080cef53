#include "library.hpp"

#include <array>
#include <stdexcept>

namespace amg {

void require(HYPRE_Int error, const std::string &what) {
  if (error == 0) return;
  std::array<char, 256> text{};
  HYPRE_DescribeError(error, text.data());
  std::string reason = text.data();
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  throw std::runtime_error("hypre: " + what + ": " + reason);
}

HYPRE_ParCSRMatrix object_of(const Matrix &matrix) {
  void *object = nullptr;
  require(HYPRE_IJMatrixGetObject(matrix.get(), &object), "the matrix");
  return static_cast<HYPRE_ParCSRMatrix>(object);
}

HYPRE_ParVector object_of(const Vector &vector) {
  void *object = nullptr;
  require(HYPRE_IJVectorGetObject(vector.get(), &object), "a vector");
  return static_cast<HYPRE_ParVector>(object);
}

} // namespace amg
