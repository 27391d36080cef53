// The sender's side: a stamp for each message.
#include "hide/inject/injection.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <list>

namespace haloscope::inject {

namespace {

// A stamp whose sending is not over when it is sent: rare, as stamps are small.
struct Pending {
  std::array<std::byte, 32> content;
  MPI_Request request;
};
std::list<Pending> pending;

bool is_stamped(const Communicator &communicator, int dest) {
  return reaches(&communicator, dest) && communicator.stamps != MPI_COMM_NULL &&
         state.plan.stamps(link_to(communicator, dest));
}

} // namespace

void send_stamp(const void *content, std::size_t size, int dest, int tag, MPI_Comm comm) {
  pending.remove_if([](Pending &old) {
    int done = 0;
    return real.Test(&old.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
  Pending &stamp = pending.emplace_back();
  std::memcpy(stamp.content.data(), content, size);
  // An error about the tag is raised by the program's own message.
  const int result =
      real.Isend(stamp.content.data(), static_cast<int>(size), MPI_BYTE, dest, tag, comm, &stamp.request);
  int done = 0;
  if (result != MPI_SUCCESS || real.Test(&stamp.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
      done != 0)
    pending.pop_back();
}

void stamp(MPI_Comm comm, int dest, int tag) {
  if (dest < 0) return;
  if (Communicator *communicator = communicator_of(comm)) stamp(*communicator, dest, tag);
}

void stamp(Communicator &communicator, int dest, int tag) {
  if (!is_stamped(communicator, dest)) return;
  const auto spare = std::ranges::find(communicator.spare, std::pair{dest, tag});
  if (spare != communicator.spare.end()) {
    communicator.spare.erase(spare);
    return;
  }
  const Moment due = departed(communicator, dest, tag);
  send_stamp(&due, sizeof due, dest, tag, communicator.stamps);
}

void spare_stamp(MPI_Comm comm, int dest, int tag) {
  Communicator *communicator = dest < 0 ? nullptr : communicator_of(comm);
  if (communicator != nullptr && is_stamped(*communicator, dest)) communicator->spare.emplace_back(dest, tag);
}

// Stamps of messages that MPI refused or that nobody received. Some libraries report what is left at the end.
void drop_stamps(const Communicator &communicator) {
  std::array<std::byte, sizeof(Pending::content)> content;
  MPI_Status found;
  for (int there = 1; there != 0;) {
    there = 0;
    if (real.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, communicator.stamps, &there, &found) != MPI_SUCCESS) return;
    if (there != 0)
      real.Recv(content.data(), static_cast<int>(content.size()), MPI_BYTE, found.MPI_SOURCE, found.MPI_TAG,
                communicator.stamps, MPI_STATUS_IGNORE);
  }
}

} // namespace haloscope::inject
