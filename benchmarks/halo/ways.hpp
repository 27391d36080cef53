// Methods by which two ranks exchange a message in both directions or in one, and copies alone, the lower
// bound.
#pragma once

#include "hide/halo/segment.hpp"

#include <haloscope/halo.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

struct Method {
  std::function<std::uint64_t *()> target; // buffer to write
  std::function<void()> exchange;
  std::function<const std::uint64_t *()> source; // buffer to read
};

inline int me() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// A communicator in which each of two ranks is the other's only neighbour.
inline MPI_Comm pair() {
  const int other = 1 - me();
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &other, MPI_UNWEIGHTED, 1, &other, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &made);
  return made;
}

inline Method by_halo(MPI_Comm comm, std::size_t bytes, haloscope_halo_method how) {
  auto settings = haloscope::Halo::defaults();
  settings.method = how;
  auto halo = std::make_shared<haloscope::Halo>(comm, std::span{&bytes, 1}, std::span{&bytes, 1}, settings);
  if (how == HALOSCOPE_HALO_MEASURE && me() == 0) std::fprintf(stderr, "%s\n", halo->description().c_str());
  return {[halo] { return halo->send<std::uint64_t>(0).data(); },
          [halo] {
            halo->start();
            halo->finish();
          },
          [halo] { return halo->received<std::uint64_t>(0).data(); }};
}

enum class Memory { small_pages, large_pages, by_malloc, by_mpi };

inline std::shared_ptr<std::uint64_t> buffer(std::size_t bytes, Memory memory) {
  constexpr std::size_t page = std::size_t{2} << 20;
  const std::size_t whole = (bytes + page - 1) / page * page;
  void *made = nullptr;
  void (*free_it)(void *) = std::free;
  if (memory == Memory::by_mpi) {
    MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void *>(&made));
    free_it = [](void *data) { MPI_Free_mem(data); };
  } else if (memory == Memory::by_malloc) {
    made = std::malloc(bytes);
  } else if (posix_memalign(&made, memory == Memory::large_pages ? page : 4096, whole) == 0) {
    madvise(made, whole, memory == Memory::large_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  if (made == nullptr) std::abort();
  std::memset(made, 1, bytes);
  return {static_cast<std::uint64_t *>(made), free_it};
}

// Messages of an unchanged program.
inline Method by_messages(std::size_t bytes, Memory memory) {
  auto to = buffer(bytes, memory), from = buffer(bytes, memory);
  return {[to] { return to.get(); },
          [to, from, bytes] {
            MPI_Request requests[2];
            const int other = 1 - me(), count = static_cast<int>(bytes);
            MPI_Irecv(from.get(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(to.get(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
          },
          [from] { return from.get(); }};
}

// One direction; the sender waits.
inline Method by_one_message(std::size_t bytes, Memory memory) {
  auto data = buffer(bytes, memory);
  return {[data] { return data.get(); },
          [data, bytes] {
            const int other = 1 - me(), count = static_cast<int>(bytes);
            if (me() == 0)
              MPI_Send(data.get(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            else
              MPI_Recv(data.get(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          },
          [data] { return data.get(); }};
}

// The kernel copies from the other process: the minimum for MPI libraries with private buffers.
inline Method by_kernel(std::size_t bytes, bool both) {
  auto to = buffer(bytes, Memory::small_pages), from = buffer(bytes, Memory::small_pages);
  struct Other {
    long process;
    std::uint64_t *data;
  };
  const Other mine{getpid(), to.get()};
  Other other{};
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, 1 - me(), 1, &other, sizeof other, MPI_BYTE, 1 - me(), 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return {[to] { return to.get(); },
          [from, other, bytes, both] {
            if (!both && me() != 0) return;
            iovec here{from.get(), bytes}, there{other.data, bytes};
            if (process_vm_readv(static_cast<pid_t>(other.process), &here, 1, &there, 1, 0) < 0)
              std::memset(from.get(), 0, bytes); // forbidden here
          },
          [from] { return from.get(); }};
}

// One core or both copy data of their own.
inline Method by_memcpy(std::size_t bytes, bool both) {
  auto to = buffer(bytes, Memory::large_pages), from = buffer(bytes, Memory::large_pages);
  return {[to] { return to.get(); },
          [to, from, bytes, both] {
            if (both || me() == 0) std::memcpy(from.get(), to.get(), bytes);
          },
          [from] { return from.get(); }};
}

// Data of the other core in the layout of the halo library, in two alternating copies. A rank reads it in
// place or copies it once. It never waits for the data, because a barrier precedes each exchange.
inline Method of_the_other(std::size_t bytes, bool copied) {
  using haloscope::halo::Segment;
  struct Turns {
    Segment segment;
    std::size_t count = 0;
    [[nodiscard]] std::uint64_t *copy(int rank, std::size_t turn, std::size_t length) const {
      return reinterpret_cast<std::uint64_t *>(segment.region(rank).data() + turn % 2 * length);
    }
  };
  auto made = Segment::make(MPI_COMM_WORLD, 2 * bytes);
  if (!made) std::abort();
  const auto turns = std::make_shared<Turns>(Turns{std::move(*made)});
  const auto to = buffer(bytes, Memory::large_pages);
  return {[turns, bytes] { return turns->copy(me(), turns->count, bytes); },
          [turns, to, bytes, copied] {
            if (copied) std::memcpy(to.get(), turns->copy(1 - me(), turns->count, bytes), bytes);
            turns->count++;
          },
          [turns, to, bytes, copied] {
            return copied ? to.get() : turns->copy(1 - me(), turns->count - 1, bytes);
          }};
}

using Maker = std::function<Method(MPI_Comm, std::size_t)>;

// All ways by name.
inline std::map<std::string, Maker> ways() {
  std::map<std::string, Maker> all;
  for (const auto &[name, how] : {std::pair{"in-place", HALOSCOPE_HALO_IN_PLACE},
                                  {"window", HALOSCOPE_HALO_WINDOW},
                                  {"chosen", HALOSCOPE_HALO_MEASURE},
                                  {"mpi-persistent", HALOSCOPE_HALO_PERSISTENT},
                                  {"mpi-neighbourhood", HALOSCOPE_HALO_NEIGHBOURHOOD}})
    all[name] = [how = how](MPI_Comm comm, std::size_t bytes) { return by_halo(comm, bytes, how); };
  for (const auto &[name, memory] : {std::pair{"", Memory::small_pages},
                                     {"-large-pages", Memory::large_pages},
                                     {"-malloc", Memory::by_malloc},
                                     {"-alloc", Memory::by_mpi}}) {
    all[std::string("mpi-isend") + name] = [memory = memory](MPI_Comm, std::size_t bytes) {
      return by_messages(bytes, memory);
    };
    all[std::string("one-way") + name] = [memory = memory](MPI_Comm, std::size_t bytes) {
      return by_one_message(bytes, memory);
    };
  }
  for (const auto &[name, both] : {std::pair{"-one", false}, {"-two", true}}) {
    all[std::string("memcpy") + name] = [both = both](MPI_Comm, std::size_t bytes) {
      return by_memcpy(bytes, both);
    };
    all[std::string("cma") + name] = [both = both](MPI_Comm, std::size_t bytes) {
      return by_kernel(bytes, both);
    };
  }
  for (const auto &[name, copied] : {std::pair{"read-other", false}, {"memcpy-other", true}})
    all[name] = [copied = copied](MPI_Comm, std::size_t bytes) { return of_the_other(bytes, copied); };
  return all;
}
