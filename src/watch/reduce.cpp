#include "reduce.hpp"

#include "state.hpp"

#include <algorithm>
#include <memory>
#include <ranges>
#include <sched.h>
#include <unistd.h>
#include <utility>

namespace haloscope::watch {

namespace {

constexpr int names_tag = 1;
constexpr int header_tag = 2;
constexpr int rows_tag = 3;
constexpr int outcome_tag = 4;

// Messages that do not wait for ever: a rank may never come to MPI_Finalize.
class Channel {
public:
  Channel(MPI_Comm comm, double patience) : comm_(comm), patience_(patience) {}

  template <class T> void send_value(const T &value, int to, int tag) const {
    send(std::vector<T>{value}, to, tag);
  }
  // Buffers of messages that are given up stay: MPI may still use them.
  template <class Buffer> void send(Buffer buffer, int to, int tag) const {
    auto kept = std::make_unique<Buffer>(std::move(buffer));
    MPI_Request request = MPI_REQUEST_NULL;
    real.Isend(kept->data(), bytes_of(*kept), MPI_BYTE, to, tag, comm_, &request);
    wait(request, to, kept);
  }
  template <class T> T receive_value(int from, int tag) const {
    return receive<std::vector<T>>(1, from, tag).front();
  }
  template <class Buffer> Buffer receive(std::size_t elements, int from, int tag) const {
    auto buffer = std::make_unique<Buffer>(elements, typename Buffer::value_type{});
    MPI_Request request = MPI_REQUEST_NULL;
    real.Irecv(buffer->data(), bytes_of(*buffer), MPI_BYTE, from, tag, comm_, &request);
    wait(request, from, buffer);
    return std::move(*buffer);
  }

private:
  template <class Buffer> static int bytes_of(const Buffer &buffer) {
    return static_cast<int>(buffer.size() * sizeof(*buffer.data()));
  }
  template <class Buffer> void wait(MPI_Request request, int other, std::unique_ptr<Buffer> &buffer) const {
    int done = 0;
    const std::uint64_t begin = nanoseconds(CLOCK_MONOTONIC);
    for (unsigned polls = 0;; polls++) {
      real.Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      const double waited = 1e-9 * static_cast<double>(nanoseconds(CLOCK_MONOTONIC) - begin);
      if (waited > patience_) {
        static_cast<void>(buffer.release());
        throw LateRank{other};
      }
      if (waited < 1e-3)
        sched_yield();
      else
        usleep(polls < 1000 ? 50 : 1000);
    }
  }

  MPI_Comm comm_;
  double patience_; // seconds
};

// Position of this rank in the binomial tree rooted at rank 0.
struct Tree {
  int parent = -1;
  std::vector<int> children;

  Tree(int rank, int size) {
    for (int bit = 1; bit < size; bit *= 2) {
      if ((rank & bit) != 0) {
        parent = rank - bit;
        return;
      }
      if (rank + bit < size) children.push_back(rank + bit);
    }
  }
};

void send_names(const Channel &channel, int to, const std::string &packed) {
  channel.send_value(std::uint64_t{packed.size()}, to, names_tag);
  channel.send(packed, to, names_tag);
}

std::string receive_names(const Channel &channel, int from) {
  const auto size = channel.receive_value<std::uint64_t>(from, names_tag);
  return channel.receive<std::string>(size, from, names_tag);
}

// Union of all names up the tree, then to everybody.
Names unite_names(const Channel &channel, const Tree &tree, const Names &mine) {
  Names names = mine;
  for (const int child : tree.children) names.absorb(Names::unpack(receive_names(channel, child)));
  std::string packed = names.pack();
  if (tree.parent >= 0) {
    send_names(channel, tree.parent, packed);
    packed = receive_names(channel, tree.parent);
  }
  for (const int child : std::views::reverse(tree.children)) send_names(channel, child, packed);
  return Names::unpack(packed);
}

struct BlockHeader {
  std::uint64_t table, rows; // table: table_count after the last block
};

class Blocks {
public:
  Blocks(const Channel &channel, const Tree &tree, std::vector<Table> &tables,
         const std::function<void(TableId, const Table &)> &store)
      : channel_(channel), tree_(tree), tables_(tables), store_(store) {}

  void run() {
    for (unsigned i = 0; i < table_count; i++)
      if (tables_[i].bytes() > block_bytes) flush(static_cast<TableId>(i));
    for (const int child : tree_.children) receive_from(child);
    for (unsigned i = 0; i < table_count; i++) flush(static_cast<TableId>(i));
    if (tree_.parent >= 0) channel_.send_value(BlockHeader{table_count, 0}, tree_.parent, header_tag);
  }

private:
  void receive_from(int child) {
    for (;;) {
      const auto header = channel_.receive_value<BlockHeader>(child, header_tag);
      if (header.table >= table_count) return;
      Table &table = tables_[header.table];
      const std::size_t size = header.rows * table.schema().columns.size();
      const auto words = channel_.receive<Words>(size, child, rows_tag);
      table.read(words, header.rows);
      if (table.bytes() <= block_bytes) continue;
      table.compact();
      if (table.bytes() > block_bytes / 2) flush(static_cast<TableId>(header.table));
    }
  }

  void flush(TableId id) {
    Table &table = tables_[static_cast<unsigned>(id)];
    table.compact();
    if (tree_.parent < 0 && table.rows() > 0) store_(id, table);
    if (tree_.parent >= 0) send(id, table);
    table.clear();
  }

  void send(TableId id, const Table &table) const {
    const std::size_t block_rows = block_bytes / (8 * table.schema().columns.size());
    for (std::size_t first = 0; first < table.rows(); first += block_rows) {
      const std::size_t rows = std::min(block_rows, table.rows() - first);
      channel_.send_value(BlockHeader{static_cast<std::uint64_t>(id), rows}, tree_.parent, header_tag);
      channel_.send(table.write(first, rows), tree_.parent, rows_tag);
    }
  }

  const Channel &channel_;
  const Tree &tree_;
  std::vector<Table> &tables_;
  const std::function<void(TableId, const Table &)> &store_;
};

} // namespace

bool reduce(MPI_Comm comm, double patience, Contents &mine,
            const std::function<void(TableId, const Table &)> &store,
            const std::function<bool(const Names &)> &finish) {
  int rank = 0;
  int size = 0;
  real.Comm_rank(comm, &rank);
  real.Comm_size(comm, &size);
  const Tree tree{rank, size};
  const Channel channel{comm, patience};
  const Names names = unite_names(channel, tree, mine.names);
  Names common = names;
  const Names::Renumbering numbers = common.absorb(mine.names);
  for (auto &table : mine.tables) table.renumber(numbers.strings, numbers.paths);
  Blocks{channel, tree, mine.tables, store}.run();
  const int written = tree.parent < 0 ? static_cast<int>(finish(names))
                                      : channel.receive_value<int>(tree.parent, outcome_tag);
  for (const int child : std::views::reverse(tree.children)) channel.send_value(written, child, outcome_tag);
  return written != 0;
}

} // namespace haloscope::watch
