#include "watch/counting/buffer_memory.hpp"

#include "watch/counting/state.hpp"

namespace haloscope::watch {

namespace {

// A message is sent from host memory that was copied from a device.
void note_sent(ThreadState &state, std::uintptr_t address) noexcept {
  for (KnownMemory::Copied &copied : state.known_memory.copied) {
    if (copied.bytes == 0 || address < copied.begin || address - copied.begin >= copied.bytes) continue;
    state.node->staged_bytes += copied.bytes;
    copied.bytes = 0;
  }
}

} // namespace

const void *sent_by_root(const void *buffer, int root, MPI_Comm comm) noexcept {
  int rank = -1;
  if (root != MPI_ROOT && real.Comm_rank(comm, &rank) != MPI_SUCCESS) return nullptr;
  return root == MPI_ROOT || root == rank ? buffer : nullptr;
}

Memory ask_memory(BufferUse use, const void *buffer, MPI_Datatype datatype, const void *other,
                  MPI_Datatype other_type) noexcept {
  ThreadState *state = this_thread() != nullptr ? this_thread() : attach_thread();
  if (state == nullptr || state->doing.call != 0) return Memory::host; // not recorded
  catch_up(*state);
  if (buffer == MPI_IN_PLACE) {
    buffer = other;
    datatype = other_type;
  }
  std::uintptr_t address = first_byte(state->known_memory, buffer, datatype);
  if (address == 0 && other != nullptr) address = first_byte(state->known_memory, other, other_type);
  if (address == 0) return Memory::host;
  const Memory memory = memory_at(state->known_memory, address);
  if (memory == Memory::host && use == BufferUse::reads) note_sent(*state, address);
  return memory;
}

} // namespace haloscope::watch
