#include "hide/fem/operator/channels.hpp"

namespace haloscope::fem {

namespace {

enum Tag { input_tag, output_tag };

// A pair of requests with a neighbour; nothing where there is nothing to say.
void connect(Channels::Direction &direction, std::size_t send_begin, std::size_t sends,
             std::size_t receive_begin, std::size_t receives, int rank, Tag tag, MPI_Comm communicator) {
  if (sends > 0)
    MPI_Send_init(direction.sent.data() + send_begin, static_cast<int>(sends), MPI_DOUBLE, rank, tag,
                  communicator, &direction.sends.emplace_back(MPI_REQUEST_NULL));
  if (receives > 0)
    MPI_Recv_init(direction.received.data() + receive_begin, static_cast<int>(receives), MPI_DOUBLE, rank,
                  tag, communicator, &direction.receives.emplace_back(MPI_REQUEST_NULL));
}

void exchange(Channels::Direction &direction) {
  const auto start = [](std::vector<MPI_Request> &requests) {
    if (!requests.empty()) MPI_Startall(static_cast<int>(requests.size()), requests.data());
  };
  const auto finish = [](std::vector<MPI_Request> &requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  };
  start(direction.receives);
  start(direction.sends);
  finish(direction.receives);
  finish(direction.sends);
}

void free_all(std::vector<MPI_Request> &requests) {
  for (MPI_Request &request : requests) MPI_Request_free(&request);
}

} // namespace

Channels::Channels(MPI_Comm communicator, const Links &links) : communicator_(communicator) {
  for (const auto &neighbour : links.neighbours) {
    owned_.insert(owned_.end(), neighbour.send.begin(), neighbour.send.end());
    ghosts_.insert(ghosts_.end(), neighbour.receive.begin(), neighbour.receive.end());
  }
  input.sent.resize(owned_.size());
  input.received.resize(ghosts_.size());
  output.sent.resize(ghosts_.size());
  output.received.resize(owned_.size());
  std::size_t first_owned = 0, first_ghost = 0;
  for (const auto &[rank, send, receive] : links.neighbours) {
    connect(input, first_owned, send.size(), first_ghost, receive.size(), rank, input_tag,
            communicator_.get());
    connect(output, first_ghost, receive.size(), first_owned, send.size(), rank, output_tag,
            communicator_.get());
    first_owned += send.size();
    first_ghost += receive.size();
  }
}

Channels::~Channels() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (Direction *direction : {&input, &output}) {
    free_all(direction->sends);
    free_all(direction->receives);
  }
}

void Channels::bring(double *values) {
  for (std::size_t i = 0; i < owned_.size(); i++) input.sent[i] = values[owned_[i]];
  exchange(input);
  for (std::size_t i = 0; i < ghosts_.size(); i++) values[ghosts_[i]] = input.received[i];
}

void Channels::add(double *values) {
  for (std::size_t i = 0; i < ghosts_.size(); i++) output.sent[i] = values[ghosts_[i]];
  exchange(output);
  for (std::size_t i = 0; i < owned_.size(); i++) values[owned_[i]] += output.received[i];
}

} // namespace haloscope::fem
