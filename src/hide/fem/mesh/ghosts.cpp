#include "hide/fem/mesh/ghosts.hpp"

namespace haloscope::fem {

namespace {

enum Tag { forward_tag, reverse_tag };

// Makes a pair of requests with a neighbour; none where there is nothing to send.
void connect(Ghosts::Direction &direction, std::size_t send_begin, std::size_t sends,
             std::size_t receive_begin, std::size_t receives, int rank, Tag tag, MPI_Comm communicator) {
  if (sends > 0)
    MPI_Send_init(direction.sent.data() + send_begin, static_cast<int>(sends), MPI_DOUBLE, rank, tag,
                  communicator, &direction.sends.emplace_back(MPI_REQUEST_NULL));
  if (receives > 0)
    MPI_Recv_init(direction.received.data() + receive_begin, static_cast<int>(receives), MPI_DOUBLE, rank,
                  tag, communicator, &direction.receives.emplace_back(MPI_REQUEST_NULL));
}

void start_all(std::vector<MPI_Request> &requests) {
  if (!requests.empty()) MPI_Startall(static_cast<int>(requests.size()), requests.data());
}

void wait_all(std::vector<MPI_Request> &requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void start(Ghosts::Direction &direction, std::span<const std::int32_t> nodes, const double *values) {
  for (std::size_t i = 0; i < nodes.size(); i++) direction.sent[i] = values[nodes[i]];
  start_all(direction.receives);
  start_all(direction.sends);
}

void finish(Ghosts::Direction &direction) {
  wait_all(direction.receives);
  wait_all(direction.sends);
}

} // namespace

Ghosts::Ghosts(MPI_Comm communicator, const Links &links) : communicator_(communicator) {
  for (const auto &neighbour : links.neighbours) {
    owned_.insert(owned_.end(), neighbour.send.begin(), neighbour.send.end());
    ghosts_.insert(ghosts_.end(), neighbour.receive.begin(), neighbour.receive.end());
  }
  to_ghosts.sent.resize(owned_.size());
  to_ghosts.received.resize(ghosts_.size());
  to_owners.sent.resize(ghosts_.size());
  to_owners.received.resize(owned_.size());
  std::size_t first_owned = 0, first_ghost = 0;
  for (const auto &[rank, send, receive] : links.neighbours) {
    connect(to_ghosts, first_owned, send.size(), first_ghost, receive.size(), rank, forward_tag,
            communicator_.get());
    connect(to_owners, first_ghost, receive.size(), first_owned, send.size(), rank, reverse_tag,
            communicator_.get());
    first_owned += send.size();
    first_ghost += receive.size();
  }
}

Ghosts::~Ghosts() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (Direction *direction : {&to_ghosts, &to_owners})
    for (std::vector<MPI_Request> *requests : {&direction->sends, &direction->receives})
      for (MPI_Request &request : *requests) MPI_Request_free(&request);
}

void Ghosts::forward_start(const double *values) { start(to_ghosts, owned_, values); }

void Ghosts::forward_finish(double *values) {
  finish(to_ghosts);
  for (std::size_t i = 0; i < ghosts_.size(); i++) values[ghosts_[i]] = to_ghosts.received[i];
}

void Ghosts::reverse_start(const double *values) { start(to_owners, ghosts_, values); }

void Ghosts::reverse_finish(double *values) {
  finish(to_owners);
  for (std::size_t i = 0; i < owned_.size(); i++) values[owned_[i]] += to_owners.received[i];
}

} // namespace haloscope::fem
