#include "hide/halo/segment.hpp"

#include "hide/halo/queues.hpp"
#include "hide/halo/shared_file.hpp"
#include "hide/halo/topology.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

namespace haloscope::halo {

namespace {

// Rank 0 makes a file without a name. The other ranks open it through rank 0's descriptor.
File create_anonymous(MPI_Comm node, int rank, std::size_t bytes) {
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
  if (rank != 0) file = opened_by(made.process, made.descriptor, made.mark);
  // Rank 0 keeps the file open until all ranks have it.
  if (!all_of(node, has(file, made.mark))) return File{};
  return file;
}

// Rank 0 makes a file of an unguessable name, which is gone as soon as all have opened it.
File create_named(MPI_Comm node, int rank, std::size_t bytes) {
  Mark mark{};
  if (rank == 0) mark = random_mark();
  check(MPI_Bcast(mark.data(), sizeof mark, MPI_BYTE, 0, node));
  const std::array<char, 64> name = shared_name(mark);
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
  File file = create_anonymous(node, rank, made.bytes_);
  if (!file.open()) file = create_named(node, rank, made.bytes_);
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

namespace {
// The functions of include/haloscope/shm.h, if the shm library is loaded.
template <class... Arguments> void call_shm_library(const char *name, Arguments... arguments) {
  using Function = int (*)(Arguments...);
  if (const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name))) function(arguments...);
}
} // namespace

bool has_shm_library() noexcept { return dlsym(RTLD_DEFAULT, "MPIX_Register_buf") != nullptr; }

Pages::Pages(std::size_t bytes) : bytes_(rounded(bytes, page)) {
  if (bytes_ > 0) base_ = map(File{}, bytes_);
  if (base_ != nullptr)
    call_shm_library("MPIX_Register_buf", static_cast<void *>(base_), static_cast<MPI_Aint>(bytes_));
}

Pages::Pages(Pages &&other) noexcept : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}

Pages &Pages::operator=(Pages &&other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages::~Pages() {
  if (base_ == nullptr) return;
  call_shm_library("MPIX_Deregister_buf", static_cast<void *>(base_));
  munmap(base_, bytes_);
}

} // namespace haloscope::halo
