#include "hide/shm/registering.hpp"

#include "hide/shm/sending.hpp"
#include "interpose/report.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

namespace haloscope::shm {

namespace {

// Whole pages that one or several registrations touch: arrays side by side have some in common.
struct Run {
  std::byte *begin, *end, *place; // in the program, and in the arena
  std::shared_ptr<std::byte> block;
};
// NOLINTBEGIN(bugprone-throwing-static-initialization): they are empty
std::vector<std::byte *> retired;              // blocks that messages may still be taken from
std::vector<Run> shared_runs;                  // in the order of addresses
std::map<std::byte *, std::byte *> registered; // beginnings and ends, as the program has named them
// NOLINTEND(bugprone-throwing-static-initialization)

struct Pages {
  std::byte *begin, *end;
};

Pages pages_of(std::byte *begin, std::byte *end) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin), last = reinterpret_cast<std::uintptr_t>(end);
  return {begin - first % page, end + (rounded(last, page) - last)};
}

std::vector<Run>::iterator run_of(const std::byte *address) noexcept {
  const auto behind = std::ranges::upper_bound(shared_runs, address, {},
                                               [](const Run &run) -> const std::byte * { return run.begin; });
  return behind != shared_runs.begin() && address < (behind - 1)->end ? behind - 1 : shared_runs.end();
}

// Accepts only the program's own writable memory, and no stack. Memory that is shared already would be cut
// off from the others that share it.
bool is_plain(const Pages &pages) {
  const auto *here = static_cast<const std::byte *>(__builtin_frame_address(0));
  if (here >= pages.begin && here < pages.end) return false;
  std::ifstream maps{"/proc/self/maps"};
  auto at = reinterpret_cast<std::uintptr_t>(pages.begin);
  for (std::string line; std::getline(maps, line);) {
    char *rest = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    const std::uintptr_t end = std::strtoull(rest + 1, &rest, 16);
    if (end <= at) continue;
    if (begin > at || std::strncmp(rest, " rw-p", 5) != 0 || line.ends_with("[stack]")) return false;
    at = end;
    if (at >= reinterpret_cast<std::uintptr_t>(pages.end)) return true;
  }
  return false;
}

// All or nothing: what the pages held is in the arena still.
bool make_private(const Run &run, const Pages &pages) noexcept {
  const auto bytes = static_cast<std::size_t>(pages.end - pages.begin);
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(pages.begin, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) return false;
  copy_pages(pages.begin, run.place + (pages.begin - run.begin), bytes);
  return true;
}

// In a child that fork() made, where the arena is its own already.
bool make_all_private() noexcept {
  return std::ranges::all_of(shared_runs,
                             [](const Run &run) { return make_private(run, {run.begin, run.end}); });
}

void give_retired() {
  if (retired.empty() || any_under_way()) return;
  for (std::byte *block : retired) shm.node->arena().give(block);
  retired.clear();
}

// One block for all of these pages, and for the runs that they touch. Nothing is allocated between the copy
// and the change of the pages, because malloc may write to them.
bool share(const Pages &pages) {
  const auto bytes = static_cast<std::size_t>(pages.end - pages.begin);
  Arena &arena = shm.node->arena();
  arena.in_child(make_all_private);
  std::byte *block = arena.take(bytes, page);
  if (block == nullptr) return false;
  copy_pages(block, pages.begin, bytes);
  if (!arena.show(block, pages.begin, bytes)) {
    arena.give(block);
    return false;
  }
#ifdef MADV_POPULATE_WRITE
  madvise(pages.begin, bytes, MADV_POPULATE_WRITE);
#endif
  std::erase_if(shared_runs,
                [&](const Run &run) { return run.begin >= pages.begin && run.end <= pages.end; });
  const auto place = std::ranges::upper_bound(shared_runs, pages.begin, {}, &Run::begin);
  const auto retire = [](std::byte *unused) { retired.push_back(unused); };
  shared_runs.insert(place, {pages.begin, pages.end, block, {block, retire}});
  return true;
}

// These pages are the program's alone again.
bool withdraw(const Pages &pages) {
  auto place = run_of(pages.begin);
  const Run run = *place;
  if (shm.node->arena().is_shared() && !make_private(run, pages)) return false;
  place = shared_runs.erase(place);
  if (pages.end < run.end)
    place = shared_runs.insert(place, {pages.end, run.end, run.place + (pages.end - run.begin), run.block});
  if (run.begin < pages.begin) shared_runs.insert(place, {run.begin, pages.begin, run.place, run.block});
  return true;
}

int complain(int error, const char *what) {
  interpose::complain(what);
  return error;
}

} // namespace

int register_memory(void *memory, MPI_Aint bytes) {
  auto *begin = static_cast<std::byte *>(memory), *end = begin + bytes;
  const Arena &arena = shm.node->arena();
  if (arena.holds(begin) && arena.holds(end - 1)) return MPI_SUCCESS;
  const auto next = registered.lower_bound(begin);
  if ((next != registered.end() && next->first < end) ||
      (next != registered.begin() && std::prev(next)->second > begin))
    return complain(MPI_ERR_ARG, "MPIX_Register_buf: some of this memory is registered already; "
                                 "call MPIX_Deregister_buf first");
  give_retired();
  // Only its first and its last page can be others' too.
  const Pages pages = pages_of(begin, end);
  const auto first = run_of(pages.begin), last = run_of(pages.end - 1);
  const Pages fresh{pages.begin + (first != shared_runs.end() ? page : 0),
                    pages.end - (last != shared_runs.end() ? page : 0)};
  if (fresh.begin < fresh.end && !is_plain(fresh))
    return complain(MPI_ERR_ARG, "MPIX_Register_buf: this memory is on a stack, already shared or read-only; "
                                 "register static or allocated memory of the program");
  if (first == shared_runs.end() || first != last) {
    const Pages all{first != shared_runs.end() ? first->begin : pages.begin,
                    last != shared_runs.end() ? last->end : pages.end};
    if (!share(all))
      return complain(MPI_ERR_NO_MEM, "MPIX_Register_buf: the node has no shared memory for it; "
                                      "MPI handles its messages");
  }
  registered[begin] = end;
  return MPI_SUCCESS;
}

int deregister_memory(void *memory) {
  const auto found = registered.find(static_cast<std::byte *>(memory));
  if (found == registered.end()) {
    if (shm.node->arena().holds(memory)) return MPI_SUCCESS;
    return complain(MPI_ERR_ARG, "MPIX_Deregister_buf: no registered memory begins at this address; pass "
                                 "the address from MPIX_Register_buf, once");
  }
  give_retired();
  Pages pages = pages_of(found->first, found->second);
  if (found != registered.begin() && std::prev(found)->second > pages.begin) pages.begin += page;
  if (std::next(found) != registered.end() && std::next(found)->first < pages.end) pages.end -= page;
  if (pages.begin < pages.end && !withdraw(pages))
    return complain(MPI_ERR_NO_MEM, "MPIX_Deregister_buf: there is no memory for a private copy; "
                                    "it stays registered");
  registered.erase(found);
  return MPI_SUCCESS;
}

std::optional<std::uint64_t> shared_place(const void *address, std::size_t bytes) noexcept {
  Node &node = *shm.node;
  if (node.arena().holds(address)) return node.place_of(address);
  if (shared_runs.empty()) return {};
  const auto *begin = static_cast<const std::byte *>(address);
  const auto run = run_of(begin);
  if (run == shared_runs.end() || bytes > static_cast<std::size_t>(run->end - begin)) return {};
  return node.place_of(run->place + (begin - run->begin));
}

} // namespace haloscope::shm
