#include "watch/annotations/levels.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <sys/uio.h>
#include <unistd.h>

namespace haloscope::watch {

namespace {

// No more than a matrix has in any version, as what lies behind it may point to any package: both packages
// are within 176 bytes, and it has 208 at least. A solver has 1400 at least, and its arrays in the first 600.
constexpr std::size_t words_of_solver = 160, words_of_matrix = 24;

// Returns how many words could be read.
std::size_t peek(const void *from, std::span<std::uintptr_t> to) noexcept {
  if (from == nullptr || (reinterpret_cast<std::uintptr_t>(from) % alignof(std::uintptr_t)) != 0) return 0;
  iovec local{to.data(), to.size_bytes()};
  iovec remote{const_cast<void *>(from), to.size_bytes()};
  const ssize_t bytes = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(std::uintptr_t);
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): a word of memory that may be one
const void *pointer(std::uintptr_t word) noexcept { return reinterpret_cast<const void *>(word); }

using Matrix = std::array<std::uintptr_t, words_of_matrix>;

bool read_matrix(const void *from, Matrix &to) noexcept {
  to = {};
  return peek(from, to) > sizeof(MPI_Comm) / sizeof(std::uintptr_t) + 2;
}

MPI_Comm communicator(const Matrix &matrix) noexcept {
  MPI_Comm result;
  std::memcpy(&result, matrix.data(), sizeof(MPI_Comm));
  return result;
}

// After the communicator, as numbers of `Number`, which starts where its alignment allows.
template <class Number> std::array<std::uint64_t, 2> shape_as(const Matrix &matrix) noexcept {
  std::array<Number, 2> shape;
  constexpr std::size_t begin = std::max(sizeof(MPI_Comm), sizeof(Number));
  std::memcpy(shape.data(), reinterpret_cast<const std::byte *>(matrix.data()) + begin, sizeof shape);
  return {static_cast<std::uint64_t>(shape[0]), static_cast<std::uint64_t>(shape[1])};
}

// Of square matrices, rows and columns are equal in the one way to read them that is right: the other way
// sees a number and zeros.
bool has_long_numbers(const Matrix &square) noexcept {
  const auto small = shape_as<std::int32_t>(square);
  return small[0] != small[1];
}
std::array<std::uint64_t, 2> shape(const Matrix &matrix, bool is_long) noexcept {
  return is_long ? shape_as<std::int64_t>(matrix) : shape_as<std::int32_t>(matrix);
}

bool points_to(const void *matrix, const void *package) noexcept {
  Matrix words;
  return read_matrix(matrix, words) &&
         std::ranges::find(words, reinterpret_cast<std::uintptr_t>(package)) != words.end();
}

// Pointers until one is null or can't be one to a matrix of that communicator.
unsigned read_array(const void *from, MPI_Comm comm,
                    std::array<const void *, Hierarchy::most_levels> &to) noexcept {
  std::array<std::uintptr_t, Hierarchy::most_levels> words{};
  const std::size_t readable = peek(from, words);
  unsigned count = 0;
  Matrix matrix;
  while (count < readable && words[count] != 0 && read_matrix(pointer(words[count]), matrix) &&
         communicator(matrix) == comm) {
    to[count] = pointer(words[count]);
    count++;
  }
  return count;
}

} // namespace

bool Hierarchy::goes_between(const Operators &operators) const noexcept {
  Matrix fine, coarse, between;
  for (unsigned level = 0; level + 1 < count_; level++) {
    if (!read_matrix(levels_[level], fine) || !read_matrix(levels_[level + 1], coarse) ||
        !read_matrix(operators[level], between))
      return false;
    const bool is_long = has_long_numbers(fine);
    const std::uint64_t larger = shape(fine, is_long)[0], smaller = shape(coarse, is_long)[0];
    const std::array<std::uint64_t, 2> down{smaller, larger}, up{larger, smaller};
    if (shape(between, is_long) != up && shape(between, is_long) != down) return false;
  }
  return true;
}

void Hierarchy::refresh(bool whole) noexcept {
  Matrix first;
  if (!read_matrix(matrix_, first)) return;
  const MPI_Comm comm = communicator(first);
  std::array<std::uintptr_t, words_of_solver> solver{};
  const std::size_t words = array_ == nullptr || whole ? peek(solver_, solver) : 0;
  for (std::size_t i = 0; i < words && array_ == nullptr; i++) {
    std::uintptr_t target = 0;
    if (peek(pointer(solver[i]), {&target, 1}) == 1 && pointer(target) == matrix_)
      array_ = pointer(solver[i]);
  }
  count_ = read_array(array_, comm, levels_);
  if (!whole || count_ < 2) return;
  betweens_ = 0;
  for (std::size_t i = 0; i < words && betweens_ < between_.size(); i++) {
    if (pointer(solver[i]) == array_) continue;
    Operators &found = between_[betweens_];
    if (read_array(pointer(solver[i]), comm, found) + 1 >= count_ && goes_between(found)) betweens_++;
  }
}

int Hierarchy::level_of(const void *package) const noexcept {
  for (unsigned level = 0; level < count_; level++)
    if (points_to(levels_[level], package)) return static_cast<int>(level);
  for (unsigned i = 0; i < betweens_; i++)
    for (unsigned level = 0; level + 1 < count_; level++)
      if (points_to(between_[i][level], package)) return static_cast<int>(level);
  return -1;
}

void Levels::begin_setup(const void *solver, const void *matrix) noexcept {
  forget(solver);
  const std::lock_guard lock{mutex_};
  solvers_[next_++ % solvers_.size()] = Hierarchy{solver, matrix};
  setups_.fetch_add(1, std::memory_order_relaxed);
}

void Levels::end_setup(const void *solver) noexcept {
  const std::lock_guard lock{mutex_};
  for (Hierarchy &each : solvers_)
    if (each.solver() == solver) each.refresh(true);
  setups_.fetch_sub(1, std::memory_order_relaxed);
  forget_package();
}

void Levels::forget(const void *solver) noexcept {
  const std::lock_guard lock{mutex_};
  for (Hierarchy &each : solvers_)
    if (each.solver() == solver) each = {};
  forget_package();
}

int Levels::search(const void *package) noexcept {
  const std::lock_guard lock{mutex_};
  const bool grows = setups_.load(std::memory_order_relaxed) > 0;
  for (Hierarchy &each : solvers_) {
    if (each.solver() == nullptr) continue;
    if (grows) each.refresh(false);
    if (const int level = each.level_of(package); level >= 0) return level;
  }
  return -1;
}

int Levels::of(const void *package) noexcept {
  struct Known {
    const void *package;
    std::uint32_t generation;
    int level;
  };
  constexpr std::size_t most = 128;
  static __thread std::array<Known, most> known __attribute__((tls_model("initial-exec")));
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);
  Known &entry = known[(reinterpret_cast<std::uintptr_t>(package) >> 4U) % most];
  if (__builtin_expect(entry.package == package && entry.generation == generation, 1)) return entry.level;
  const int level = search(package);
  // While levels are added, an unknown package may become known later.
  if (level >= 0 || setups_.load(std::memory_order_relaxed) == 0) entry = {package, generation, level};
  return level;
}

} // namespace haloscope::watch
