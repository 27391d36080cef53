#include "fem/mesh/ghosts.hpp"

namespace haloscope::fem {

namespace {

enum Tag { forward_tag, reverse_tag };

struct Message {
  int rank;
  std::size_t begin, length;
};

// A buffer for messages with these numbers of values, and where each value and each extra number is. There is
// no message where there are no values.
class Layout {
public:
  Layout(std::vector<double> &buffer, std::vector<std::size_t> &at, std::vector<std::size_t> &extra_at,
         bool extra)
      : buffer_(&buffer), at_(&at), extra_at_(&extra_at), extra_(extra) {}

  void append(int rank, std::size_t values) {
    if (values == 0) return;
    const std::size_t begin = buffer_->size();
    for (std::size_t i = 0; i < values; i++) at_->push_back(begin + i);
    if (extra_) extra_at_->push_back(begin + values);
    const std::size_t length = values + (extra_ ? 1 : 0);
    buffer_->resize(begin + length);
    messages_.push_back({rank, begin, length});
  }
  // Once all are there, as the buffer moves when it grows.
  template <class Make> void connect(std::vector<MPI_Request> &requests, Make make) const {
    for (const auto &[rank, begin, length] : messages_)
      make(buffer_->data() + begin, static_cast<int>(length), rank, &requests.emplace_back(MPI_REQUEST_NULL));
  }

private:
  std::vector<double> *buffer_;
  std::vector<std::size_t> *at_, *extra_at_;
  bool extra_;
  std::vector<Message> messages_;
};

// Plans messages to neighbours with the numbers of values in `sends`, and from them with those in `receives`.
template <class Count>
void connect(Ghosts::Direction &direction, const Links &links, Count sends, Count receives, bool extra,
             Tag tag, MPI_Comm communicator) {
  Layout sent(direction.sent, direction.sent_at, direction.sent_extra, extra);
  Layout received(direction.received, direction.received_at, direction.received_extra, extra);
  for (const auto &neighbour : links.neighbours) {
    sent.append(neighbour.rank, (neighbour.*sends).size());
    received.append(neighbour.rank, (neighbour.*receives).size());
  }
  sent.connect(direction.sends, [&](double *values, int length, int rank, MPI_Request *request) {
    MPI_Send_init(values, length, MPI_DOUBLE, rank, tag, communicator, request);
  });
  received.connect(direction.receives, [&](double *values, int length, int rank, MPI_Request *request) {
    MPI_Recv_init(values, length, MPI_DOUBLE, rank, tag, communicator, request);
  });
}

void start_all(std::vector<MPI_Request> &requests) {
  if (!requests.empty()) MPI_Startall(static_cast<int>(requests.size()), requests.data());
}

void wait_all(std::vector<MPI_Request> &requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void start(Ghosts::Direction &direction, std::span<const std::int32_t> nodes, const double *values) {
  for (std::size_t i = 0; i < nodes.size(); i++) direction.sent[direction.sent_at[i]] = values[nodes[i]];
  start_all(direction.receives);
  start_all(direction.sends);
}

void finish(Ghosts::Direction &direction) {
  wait_all(direction.receives);
  wait_all(direction.sends);
}

} // namespace

Ghosts::Ghosts(MPI_Comm communicator, const Links &links, Extra extra) : communicator_(communicator) {
  using Neighbour = Links::Neighbour;
  for (const auto &neighbour : links.neighbours) {
    owned_.insert(owned_.end(), neighbour.send.begin(), neighbour.send.end());
    ghosts_.insert(ghosts_.end(), neighbour.receive.begin(), neighbour.receive.end());
  }
  connect(to_ghosts, links, &Neighbour::send, &Neighbour::receive, extra == Extra::to_ghosts, forward_tag,
          communicator_.get());
  connect(to_owners, links, &Neighbour::receive, &Neighbour::send, extra == Extra::to_owners, reverse_tag,
          communicator_.get());
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
  for (std::size_t i = 0; i < ghosts_.size(); i++)
    values[ghosts_[i]] = to_ghosts.received[to_ghosts.received_at[i]];
}

void Ghosts::reverse_start(const double *values) { start(to_owners, ghosts_, values); }

void Ghosts::reverse_finish(double *values) {
  finish(to_owners);
  for (std::size_t i = 0; i < owned_.size(); i++)
    values[owned_[i]] += to_owners.received[to_owners.received_at[i]];
}

} // namespace haloscope::fem
