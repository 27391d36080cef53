#include "faces.hpp"

#include "../common/simd.hpp"

namespace amr {

namespace {

// The cells of a face, or of a quarter, in memory.
struct Layer {
  std::size_t cell, ghost;    // of the first one, in the first variable
  std::size_t next_u, next_v; // from one to the next
  std::size_t count_u, count_v;
};

Layer layer(const Shape &shape, const Face &face) {
  const int u = face.axis == 0 ? 1 : 0, v = face.axis == 2 ? 1 : 2;
  const std::size_t part = face.other == Relation::finer ? 2 : 1;
  Layer l{};
  l.next_u = shape.stride(u);
  l.next_v = shape.stride(v);
  l.count_u = index(shape.length(u)) / part;
  l.count_v = index(shape.length(v)) / part;
  const std::size_t first = l.next_u * (1 + index(face.quarter[0]) * l.count_u) +
                            l.next_v * (1 + index(face.quarter[1]) * l.count_v);
  const std::size_t across = shape.stride(face.axis);
  const auto length = index(shape.length(face.axis));
  l.cell = first + across * (face.side == 0 ? 1 : length);
  l.ghost = first + across * (face.side == 0 ? 0 : length + 1);
  return l;
}

APPS_FAST void take(double *__restrict to, const double *from, const Layer &l) {
  for (std::size_t v = 0; v < l.count_v; ++v)
    for (std::size_t u = 0; u < l.count_u; ++u) to[v * l.count_u + u] = from[v * l.next_v + u * l.next_u];
}

APPS_FAST void put(double *to, const double *__restrict from, const Layer &l) {
  for (std::size_t v = 0; v < l.count_v; ++v)
    for (std::size_t u = 0; u < l.count_u; ++u) to[v * l.next_v + u * l.next_u] = from[v * l.count_u + u];
}

void take_means(double *to, const double *from, const Layer &l) {
  for (std::size_t v = 0; v < l.count_v; v += 2)
    for (std::size_t u = 0; u < l.count_u; u += 2) {
      const double *at = from + v * l.next_v + u * l.next_u;
      *to++ = ((at[0] + at[l.next_u]) + (at[l.next_v] + at[l.next_v + l.next_u])) / 4;
    }
}

void put_spread(double *to, const double *from, const Layer &l) {
  for (std::size_t v = 0; v < l.count_v; ++v)
    for (std::size_t u = 0; u < l.count_u; ++u)
      to[v * l.next_v + u * l.next_u] = from[v / 2 * (l.count_u / 2) + u / 2];
}

void put_halfway(double *to, const double *own, const double *from, const Layer &l) {
  for (std::size_t v = 0; v < l.count_v; ++v)
    for (std::size_t u = 0; u < l.count_u; ++u) {
      const std::size_t at = v * l.next_v + u * l.next_u;
      to[at] = (own[at] + *from++) / 2;
    }
}

} // namespace

std::size_t Face::values(const Shape &shape) const {
  const std::size_t all = index(shape.length(axis == 0 ? 1 : 0)) * index(shape.length(axis == 2 ? 1 : 2));
  return other == Relation::same ? all : all / 4;
}

void pack(const Shape &shape, const Face &face, const Block &block, Variables which,
          std::span<double> values) {
  const Layer l = layer(shape, face);
  const std::size_t each = face.values(shape);
  for (int n = 0; n < which.count; ++n) {
    const double *from = block.data() + index(which.first + n) * shape.stride(3) + l.cell;
    double *to = values.data() + index(n) * each;
    if (face.other == Relation::coarser)
      take_means(to, from, l);
    else
      take(to, from, l);
  }
}

void unpack(const Shape &shape, const Face &face, Block &block, Variables which,
            std::span<const double> values) {
  const Layer l = layer(shape, face);
  const std::size_t each = face.values(shape);
  for (int n = 0; n < which.count; ++n) {
    double *variable = block.data() + index(which.first + n) * shape.stride(3);
    const double *from = values.data() + index(n) * each;
    if (face.other == Relation::coarser)
      put_spread(variable + l.ghost, from, l);
    else if (face.other == Relation::finer)
      put_halfway(variable + l.ghost, variable + l.cell, from, l);
    else
      put(variable + l.ghost, from, l);
  }
}

void reflect(const Shape &shape, const Face &face, Block &block, Variables which) {
  const Layer l = layer(shape, face);
  for (int n = 0; n < which.count; ++n) {
    double *variable = block.data() + index(which.first + n) * shape.stride(3);
    for (std::size_t v = 0; v < l.count_v; ++v)
      for (std::size_t u = 0; u < l.count_u; ++u) {
        const std::size_t at = v * l.next_v + u * l.next_u;
        variable[l.ghost + at] = variable[l.cell + at];
      }
  }
}

} // namespace amr
