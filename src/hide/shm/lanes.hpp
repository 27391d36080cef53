// The two ends of a lane (ahead.hpp), and what ranks send each other about lanes.
#pragma once

#include "hide/shm/known_requests.hpp"

#include <array>
#include <vector>

namespace haloscope::shm {

// Its end at the receiver.
struct Lane {
  int source = 0;
  std::size_t slot = 0, capacity = 0;
  void *buffer = nullptr; // none: nothing can be sent by it
  bool accepted = false, spoilt = false;
  std::uint64_t note = 0;
  std::vector<MPI_Request> requests; // of the note and of the pieces
};

// Its beginning at the sender, from when it was accepted.
struct Source {
  std::size_t capacity = 0;
  bool ready = false, spoilt = false;
  std::uint64_t note = 0;
  std::array<std::byte, longest_token> token{};
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL}; // of the note and of the token
  std::vector<MPI_Request> pieces;
};

enum class Word : std::uint32_t { offer, accept, refuse, ready };
struct Notice {
  Word word;
  std::uint32_t slot;
  std::uint64_t capacity;
};
struct SentNotice {
  Notice notice;
  MPI_Request request;
};

// Over TCP Open MPI sends up to 64 KiB, with their header, without asking the receiver first.
inline constexpr std::size_t piece = std::size_t{60} << 10U;
constexpr std::size_t pieces_of(std::size_t bytes) noexcept { return (bytes + piece - 1) / piece; }
inline constexpr int notice_tag = 0;
constexpr int note_tag(std::size_t slot) noexcept { return 1 + 2 * static_cast<int>(slot); }
constexpr int data_tag(std::size_t slot) noexcept { return 2 + 2 * static_cast<int>(slot); }

} // namespace haloscope::shm
