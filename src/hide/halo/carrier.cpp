#include "hide/halo/carrier.hpp"

namespace haloscope::halo {

namespace {

int size_of(const Message &message) { return static_cast<int>(message.edge.bytes); }

class Nonblocking final : public Carrier {
public:
  Nonblocking(MPI_Comm comm, const std::vector<Message> &sends, const std::vector<Message> &receives)
      : comm_(comm), sends_(sends), receives_(receives) {
    requests_.resize(sends.size() + receives.size(), MPI_REQUEST_NULL);
  }
  void start() override {
    MPI_Request *request = requests_.data();
    for (const Message &m : receives_)
      check(MPI_Irecv(m.data, size_of(m), MPI_BYTE, m.edge.rank, m.edge.number, comm_, request++));
    for (const Message &m : sends_)
      check(MPI_Isend(m.data, size_of(m), MPI_BYTE, m.edge.rank, m.edge.number, comm_, request++));
  }

private:
  MPI_Comm comm_;
  std::vector<Message> sends_, receives_;
};

// Requests that are made once.
class Persistent : public Carrier {
public:
  ~Persistent() override {
    for (MPI_Request &request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  Persistent(const Persistent &) = delete;
  Persistent &operator=(const Persistent &) = delete;
  Persistent(MPI_Comm comm, const std::vector<Message> &sends, const std::vector<Message> &receives) {
    for (const Message &m : receives)
      check(MPI_Recv_init(m.data, size_of(m), MPI_BYTE, m.edge.rank, m.edge.number, comm, next()));
    for (const Message &m : sends)
      check(MPI_Send_init(m.data, size_of(m), MPI_BYTE, m.edge.rank, m.edge.number, comm, next()));
  }
  void start() override {
    if (requests_.empty()) return; // Open MPI refuses to start none
    check(MPI_Startall(static_cast<int>(requests_.size()), requests_.data()));
  }

protected:
  Persistent() = default;
  MPI_Request *next() {
    requests_.push_back(MPI_REQUEST_NULL);
    return &requests_.back();
  }
};

#if MPI_VERSION >= 4
// One partition per message, which is ready when the exchange starts.
class Partitioned final : public Persistent {
public:
  Partitioned(MPI_Comm comm, const std::vector<Message> &sends, const std::vector<Message> &receives)
      : sends_(sends.size()) {
    for (const Message &m : sends)
      check(MPI_Psend_init(m.data, 1, size_of(m), MPI_BYTE, m.edge.rank, m.edge.number, comm, MPI_INFO_NULL,
                           next()));
    for (const Message &m : receives)
      check(MPI_Precv_init(m.data, 1, size_of(m), MPI_BYTE, m.edge.rank, m.edge.number, comm, MPI_INFO_NULL,
                           next()));
  }
  void start() override {
    Persistent::start();
    for (std::size_t i = 0; i < sends_; i++) check(MPI_Pready(0, requests_[i]));
  }
  // MPICH's MPI_Testall never finds partitioned receives.
  bool test() override {
    bool all = true;
    for (MPI_Request &request : requests_) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
      all = all && done != 0;
    }
    return all;
  }

private:
  std::size_t sends_;
};
#endif

// A collective on a topology of just these edges.
class Neighbourhood final : public Carrier {
public:
  Neighbourhood(MPI_Comm comm, const std::vector<Message> &sends, const std::vector<Message> &receives)
      : to_(sends), from_(receives) {
    MPI_Comm made = MPI_COMM_NULL;
    check(MPI_Dist_graph_create_adjacent(comm, from_.count(), from_.ranks.data(), MPI_UNWEIGHTED, to_.count(),
                                         to_.ranks.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    comm_ = Communicator{made};
    requests_.push_back(MPI_REQUEST_NULL);
  }
  void start() override {
    check(MPI_Ineighbor_alltoallw(to_.base, to_.counts.data(), to_.places.data(), to_.types.data(),
                                  from_.base, from_.counts.data(), from_.places.data(), from_.types.data(),
                                  comm_.get(), requests_.data()));
  }

private:
  struct Side {
    std::byte *base = nullptr;
    std::vector<int> ranks;
    // One more entry than ranks: MPICH 4.0 reads the first type even if there is none.
    std::vector<int> counts{0};
    std::vector<MPI_Aint> places{0};
    std::vector<MPI_Datatype> types{MPI_BYTE};

    explicit Side(const std::vector<Message> &messages) {
      if (!messages.empty()) base = messages.front().data;
      for (const Message &m : messages) {
        ranks.push_back(m.edge.rank);
        counts.insert(counts.end() - 1, size_of(m));
        places.insert(places.end() - 1, m.data - base);
        types.push_back(MPI_BYTE);
      }
    }
    [[nodiscard]] int count() const { return static_cast<int>(ranks.size()); }
  };

  Side to_, from_;
  Communicator comm_;
};

} // namespace

const char *name(Way way) noexcept {
  switch (way) {
  case Way::nonblocking:
    return "MPI_Isend";
  case Way::persistent:
    return "persistent requests";
  case Way::partitioned:
    return "partitioned requests";
  case Way::neighbourhood:
    return "neighbourhood collectives";
  }
  return "";
}

std::vector<Way> ways(MPI_Comm comm, const Edges &edges) {
  std::vector<Way> found{Way::persistent, Way::nonblocking};
  if (all_of(comm, edges.sends.size() == edges.receives.size())) found.push_back(Way::neighbourhood);
#if MPI_VERSION >= 4
  found.push_back(Way::partitioned);
#endif
  return found;
}

std::unique_ptr<Carrier> Carrier::make(Way way, MPI_Comm comm, const std::vector<Message> &sends,
                                       const std::vector<Message> &receives) {
  if (way == Way::nonblocking) return std::make_unique<Nonblocking>(comm, sends, receives);
  if (way == Way::neighbourhood) return std::make_unique<Neighbourhood>(comm, sends, receives);
#if MPI_VERSION >= 4
  if (way == Way::partitioned) return std::make_unique<Partitioned>(comm, sends, receives);
#endif
  return std::make_unique<Persistent>(comm, sends, receives);
}

bool Carrier::test() {
  int done = 0;
  check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE));
  return done != 0;
}

void Carrier::finish() {
  check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
}

} // namespace haloscope::halo
