// The loop over batches of one degree. CMake compiles this file once for each degree, so that compilers can
// work on several degrees at the same time.
#include "fem/kernels/batches.hpp"
#include "fem/kernels/element.hpp"
#include "fem/kernels/sweeps.hpp"

#ifndef HALOSCOPE_DEGREE // for those who look at this file alone
#define HALOSCOPE_DEGREE 1
#endif

namespace haloscope::fem::kernels {

namespace {

template <int n, typename Element> Element element_of(const Batches &batches, std::size_t batch) {
  const std::size_t values = batches.pointwise ? n * n * n : 1;
  return {batches.choices, batches.geometry.data() + batch * Element::numbers * lanes,
          Coefficients{batches.coefficient.data() + batch * values * lanes, batches.pointwise ? lanes : 0}};
}

template <int n, typename Element>
void apply_batches(const Batches &batches, std::size_t begin, std::size_t end, const double *x, double *y) {
  constexpr std::size_t count = n * n * n;
  Lanes u[count];
  for (std::size_t batch = begin; batch < end; ++batch) {
    const std::int32_t *nodes = batches.nodes.data() + batch * count * lanes;
    const bool whole = batches.whole[batch] != 0;
    if (whole)
      for (std::size_t i = 0; i < count; ++i) u[i] = gather(x, nodes + i * lanes);
    else
      for (std::size_t i = 0; i < count; ++i) u[i] = gather_present(x, nodes + i * lanes);
    const std::uint16_t code = batches.codes[batch];
    if (code != 0) from_parents<n>(code, u);
    element_of<n, Element>(batches, batch).apply(u);
    if (code != 0) to_parents<n>(code, u);
    if (whole)
      for (std::size_t i = 0; i < count; ++i) scatter_add(y, nodes + i * lanes, u[i]);
    else
      for (std::size_t i = 0; i < count; ++i) scatter_add_present(y, nodes + i * lanes, u[i]);
  }
}

// Computed with unit vectors, which is slow and simple.
template <int n, typename Element>
void diagonal_of_batches(const Batches &batches, std::size_t begin, std::size_t end, double *d) {
  constexpr std::size_t count = n * n * n;
  Lanes u[count];
  for (std::size_t batch = begin; batch < end; ++batch)
    for (std::size_t i = 0; i < count; ++i) {
      for (Lanes &value : u) value = Lanes{};
      u[i] += 1.0;
      const std::uint16_t code = batches.codes[batch];
      if (code != 0) from_parents<n>(code, u);
      element_of<n, Element>(batches, batch).apply(u);
      if (code != 0) to_parents<n>(code, u);
      scatter_add_present(d, batches.nodes.data() + (batch * count + i) * lanes, u[i]);
    }
}

template <int n, typename Element> constexpr Kernel made_of() {
  return {apply_batches<n, Element>, diagonal_of_batches<n, Element>, Element::numbers, Element::flops};
}

} // namespace

template <int degree> Kernel kernel(Shape shape) {
  constexpr int n = degree + 1;
  switch (shape) {
  case Shape::modal:
    return made_of<n, ModalStiffness<n>>();
  case Shape::cube:
    return made_of<n, Stiffness<n, CubeMetric>>();
  case Shape::trilinear:
    return made_of<n, Stiffness<n, TrilinearMetric>>();
  default:
    return made_of<n, LowerOrder<n>>();
  }
}

template Kernel kernel<HALOSCOPE_DEGREE>(Shape);

} // namespace haloscope::fem::kernels
