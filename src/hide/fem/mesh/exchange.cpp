#include "hide/fem/mesh/exchange.hpp"

namespace haloscope::fem {

namespace {

enum Tag : int { FORWARD, REVERSE };

int count(const std::vector<std::int32_t> &list) { return static_cast<int>(list.size()); }

void start(std::vector<MPI_Request> &requests) {
  if (!requests.empty()) MPI_Startall(static_cast<int>(requests.size()), requests.data());
}

} // namespace

Exchange::Exchange(MPI_Comm communicator, Links links)
    : communicator_(communicator), links_(std::move(links)) {
  std::erase_if(links_.neighbours,
                [](const auto &with) { return with.send.empty() && with.receive.empty(); });
  std::size_t sent = 0, received = 0;
  for (const Links::Neighbour &with : links_.neighbours)
    sent += with.send.size(), received += with.receive.size();
  owned_.resize(sent), ghosts_.resize(received);

  MPI_Comm handle = communicator_.get();
  // Of each direction: what makes a persistent request, whose list, into or out of which buffer.
  const auto add = [&](auto make, std::vector<MPI_Request> &requests, Tag tag, bool owned) {
    double *buffer = owned ? owned_.data() : ghosts_.data();
    for (const Links::Neighbour &with : links_.neighbours) {
      const auto &list = owned ? with.send : with.receive;
      if (!list.empty())
        make(buffer, count(list), MPI_DOUBLE, with.rank, tag, handle,
             &requests.emplace_back(MPI_REQUEST_NULL));
      buffer += list.size();
    }
  };
  add(MPI_Recv_init, forward_, FORWARD, false);
  add(MPI_Send_init, forward_, FORWARD, true);
  add(MPI_Recv_init, reverse_, REVERSE, true);
  add(MPI_Send_init, reverse_, REVERSE, false);
}

Exchange::~Exchange() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (MPI_Request &request : forward_) MPI_Request_free(&request);
  for (MPI_Request &request : reverse_) MPI_Request_free(&request);
}

void Exchange::forward_start(const double *values) {
  double *buffer = owned_.data();
  for (const Links::Neighbour &with : links_.neighbours)
    for (const std::int32_t node : with.send) *buffer++ = values[node];
  start(forward_);
}

void Exchange::forward_finish(double *values) {
  MPI_Waitall(static_cast<int>(forward_.size()), forward_.data(), MPI_STATUSES_IGNORE);
  const double *buffer = ghosts_.data();
  for (const Links::Neighbour &with : links_.neighbours)
    for (const std::int32_t node : with.receive) values[node] = *buffer++;
}

void Exchange::reverse_start(const double *values) {
  double *buffer = ghosts_.data();
  for (const Links::Neighbour &with : links_.neighbours)
    for (const std::int32_t node : with.receive) *buffer++ = values[node];
  start(reverse_);
}

void Exchange::reverse_finish(double *values) {
  MPI_Waitall(static_cast<int>(reverse_.size()), reverse_.data(), MPI_STATUSES_IGNORE);
  const double *buffer = owned_.data();
  for (const Links::Neighbour &with : links_.neighbours)
    for (const std::int32_t node : with.send) values[node] += *buffer++;
}

} // namespace haloscope::fem
