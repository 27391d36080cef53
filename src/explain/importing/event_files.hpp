// The two files of events that Python reads (python/haloscope/profile/importing/otf2_archive.py).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace haloscope::importing {

inline constexpr uint32_t no_number = UINT32_MAX;

enum class Kind : uint8_t {
  enter,
  leave,
  send,
  post_send,
  sent,
  post_receive,
  receive,
  received,
  begin_collective,
  end_collective,
  post_collective,
  collective,
  cancelled,
};

// Written in parts: an archive may be larger than memory.
class Stream {
public:
  explicit Stream(const char *path) : file{std::fopen(path, "wb")} {}
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  ~Stream() {
    if (file) std::fclose(file);
  }
  template <class Value> void put(Value value) {
    if (filled + sizeof value > sizeof buffer) flush();
    std::memcpy(buffer + filled, &value, sizeof value);
    filled += sizeof value;
  }
  // Whether all of it was written.
  bool flush() {
    is_whole = is_whole && file && std::fwrite(buffer, 1, filled, file) == filled && std::fflush(file) == 0;
    filled = 0;
    return is_whole;
  }

private:
  std::FILE *file;
  bool is_whole = true;
  size_t filled = 0;
  char buffer[1 << 16];
};

struct Output {
  Stream events, messages;
  uint64_t event_count = 0;
  uint32_t message_count = 0;

  Output(const char *events_path, const char *messages_path) : events{events_path}, messages{messages_path} {}
  void event(Kind kind, uint64_t time, uint32_t value) {
    events.put(time);
    events.put(kind);
    events.put(value);
    ++event_count;
  }
  // `first` is the partner, or the root of a collective; `tag`, or which collective it is.
  void message(Kind kind, uint64_t time, uint32_t first, uint32_t communicator, uint32_t tag, uint64_t bytes,
               uint64_t more, uint64_t received = 0) {
    messages.put(first);
    messages.put(communicator);
    messages.put(tag);
    messages.put(bytes);
    messages.put(more);
    messages.put(received);
    event(kind, time, message_count++);
  }
};

} // namespace haloscope::importing
