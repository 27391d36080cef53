// A message on its way to a slot, and where its receiver finds it.
#pragma once

#include "hide/shm/sending.hpp"

namespace haloscope::shm {

struct Message {
  const void *buffer;
  MPI_Count count;
  MPI_Datatype type;
  const Envelope &envelope;
  std::uint64_t bytes;
  bool contiguous;
  int peer;
};

// Shows where the message is, or packs it into `pooled`. `looks_like_token`: the program's buffer is free at
// once. Returns whether a receiver copies from the program's buffer.
bool lay_out(Slot &shown, void *pooled, const Message &message, bool looks_like_token);

} // namespace haloscope::shm
