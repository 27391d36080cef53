#include "segment.hpp"

#include "agree.hpp"
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace haloscope::stencil {

namespace {

constexpr std::size_t page = 4096, large_page = std::size_t{2} << 20;
constexpr std::size_t mark_words = 2;

using Mark = std::array<std::uint64_t, mark_words>;

class File {
public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(File &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File &operator=(File &&other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] bool open() const noexcept { return descriptor_ >= 0; }

private:
  int descriptor_;
};

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

Mark random_mark() {
  Mark mark{};
  if (getrandom(mark.data(), sizeof mark, 0) != sizeof mark)
    mark = {static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(time(nullptr))};
  return mark;
}

// The file has the wanted size, and begins with the mark that tells it from any other.
bool prepare(const File &file, std::size_t bytes, const Mark &mark) {
  return file.open() && fchmod(file.get(), S_IRUSR | S_IWUSR) == 0 &&
         ftruncate(file.get(), static_cast<off_t>(bytes)) == 0 &&
         pwrite(file.get(), mark.data(), sizeof mark, 0) == sizeof mark;
}

bool has(const File &file, const Mark &mark) {
  Mark found{};
  return file.open() && pread(file.get(), found.data(), sizeof found, 0) == sizeof found && found == mark;
}

// Rank 0 makes a file without a name, and the others open what it has open.
File anonymous(MPI_Comm node, int rank, std::size_t bytes) {
  struct {
    long process = 0, descriptor = 0;
    Mark mark{};
  } made;
  File file;
  if (rank == 0) {
    made.mark = random_mark();
    file = File{memfd_create("haloscope", MFD_CLOEXEC)};
    if (!prepare(file, bytes, made.mark)) file = File{};
    made.process = getpid();
    made.descriptor = file.get();
  }
  check(MPI_Bcast(&made, sizeof made, MPI_BYTE, 0, node));
  if (rank != 0 && made.descriptor >= 0) {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/%ld/fd/%ld", made.process, made.descriptor);
    file = File{open(path.data(), O_RDWR | O_CLOEXEC)};
  }
  // Nobody closes it before all have it.
  if (!all_of(node, has(file, made.mark))) return File{};
  return file;
}

// Rank 0 makes a file of an unguessable name, which is gone as soon as all have opened it.
File named(MPI_Comm node, int rank, std::size_t bytes) {
  Mark mark{};
  if (rank == 0) mark = random_mark();
  check(MPI_Bcast(mark.data(), sizeof mark, MPI_BYTE, 0, node));
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/haloscope-%016llx%016llx",
                static_cast<unsigned long long>(mark[0]), static_cast<unsigned long long>(mark[1]));
  File file;
  if (rank == 0) {
    file = File{shm_open(name.data(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR)};
    if (!prepare(file, bytes, mark)) {
      if (file.open()) shm_unlink(name.data());
      file = File{};
    }
  }
  const bool made = all_of(node, rank != 0 || file.open());
  if (made && rank != 0) file = File{shm_open(name.data(), O_RDWR, 0)};
  const bool everywhere = all_of(node, has(file, mark));
  if (rank == 0 && made) shm_unlink(name.data());
  return everywhere ? std::move(file) : File{};
}

// A mapping that large pages fit into, if it is large.
std::byte *map(const File &file, std::size_t bytes) {
  const std::size_t spare = bytes >= large_page ? large_page : 0;
  void *space = mmap(nullptr, bytes + spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  auto *begin = static_cast<std::byte *>(space);
  const auto address = reinterpret_cast<std::uintptr_t>(space);
  const std::size_t before = spare == 0 ? 0 : rounded(address, large_page) - address;
  const int sharing = file.open() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void *mapped = mmap(begin + before, bytes, PROT_READ | PROT_WRITE, sharing | MAP_FIXED, file.get(), 0);
  if (before > 0) munmap(begin, before);
  if (spare > before) munmap(begin + before + bytes, spare - before);
  if (mapped == MAP_FAILED) return nullptr;
  if (spare > 0) madvise(mapped, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte *>(mapped);
}

// Gets the pages, so that running out of memory is an answer and no signal, and the owner's node has them.
bool populate(const File &file, std::byte *begin, std::size_t offset, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
#else
  (void)begin;
#endif
  return posix_fallocate(file.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

} // namespace

std::optional<Segment> Segment::make(MPI_Comm node, std::size_t bytes) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(node, &rank));
  check(MPI_Comm_size(node, &size));
  const auto ranks = static_cast<std::size_t>(size), me = static_cast<std::size_t>(rank);
  std::vector<std::uint64_t> sizes(ranks);
  const std::uint64_t mine = bytes;
  check(MPI_Allgather(&mine, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, node));
  Segment made;
  const std::size_t unit = std::ranges::max(sizes) < large_page ? page : large_page;
  made.offsets_.push_back(unit); // the mark's
  for (const std::uint64_t wanted : sizes)
    made.offsets_.push_back(made.offsets_.back() + rounded(wanted, unit));
  made.bytes_ = made.offsets_.back();
  File file = anonymous(node, rank, made.bytes_);
  if (!file.open()) file = named(node, rank, made.bytes_);
  if (!file.open()) return {};
  made.base_ = map(file, made.bytes_);
  const std::size_t offset = made.offsets_[me], length = made.offsets_[me + 1] - offset;
  const bool there =
      made.base_ != nullptr && (length == 0 || populate(file, made.base_ + offset, offset, length));
  if (!all_of(node, there)) return {};
  return made;
}

Segment::Segment(Segment &&other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), offsets_(std::move(other.offsets_)) {}

Segment &Segment::operator=(Segment &&other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(offsets_, other.offsets_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

Pages::Pages(std::size_t bytes) : bytes_(rounded(bytes, page)) {
  if (bytes_ > 0) base_ = map(File{}, bytes_);
}

Pages::Pages(Pages &&other) noexcept : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}

Pages &Pages::operator=(Pages &&other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages::~Pages() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

} // namespace haloscope::stencil
