#include "reduce.hpp"

#include "state.hpp"

namespace haloscope::watch {

namespace {

constexpr int names_tag = 1;
constexpr int header_tag = 2;
constexpr int rows_tag = 3;

void send_bytes(MPI_Comm comm, int to, const std::string &data) {
  auto size = static_cast<std::uint64_t>(data.size());
  real.Send(&size, sizeof size, MPI_BYTE, to, names_tag, comm);
  real.Send(data.data(), static_cast<int>(size), MPI_BYTE, to, names_tag, comm);
}

std::string receive_bytes(MPI_Comm comm, int from) {
  std::uint64_t size = 0;
  real.Recv(&size, sizeof size, MPI_BYTE, from, names_tag, comm, MPI_STATUS_IGNORE);
  std::string data(size, '\0');
  real.Recv(data.data(), static_cast<int>(size), MPI_BYTE, from, names_tag, comm, MPI_STATUS_IGNORE);
  return data;
}

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

// Union of all names up the tree, then to everybody.
Names unite_names(MPI_Comm comm, const Tree &tree, const Names &mine) {
  Names names = mine;
  for (const int child : tree.children) names.absorb(Names::unpack(receive_bytes(comm, child)));
  std::string packed = names.pack();
  if (tree.parent >= 0) send_bytes(comm, tree.parent, packed);
  auto size = static_cast<std::uint64_t>(packed.size());
  real.Bcast(&size, sizeof size, MPI_BYTE, 0, comm);
  packed.resize(size);
  real.Bcast(packed.data(), static_cast<int>(size), MPI_BYTE, 0, comm);
  return Names::unpack(packed);
}

struct BlockHeader {
  std::uint64_t table, rows; // table: table_count after the last block
};

class Blocks {
public:
  Blocks(MPI_Comm comm, const Tree &tree, std::vector<Table> &tables,
         const std::function<void(TableId, const Table &)> &store)
      : comm_(comm), tree_(tree), tables_(tables), store_(store) {}

  void run() {
    for (const int child : tree_.children) receive_from(child);
    for (unsigned i = 0; i < table_count; i++) flush(static_cast<TableId>(i));
    if (tree_.parent >= 0) send(BlockHeader{table_count, 0});
  }

private:
  void receive_from(int child) {
    for (;;) {
      BlockHeader header{};
      real.Recv(&header, sizeof header, MPI_BYTE, child, header_tag, comm_, MPI_STATUS_IGNORE);
      if (header.table >= table_count) return;
      Table &table = tables_[header.table];
      Words words(header.rows * table.schema().columns.size());
      real.Recv(words.data(), static_cast<int>(words.size()), MPI_UINT64_T, child, rows_tag, comm_,
                MPI_STATUS_IGNORE);
      table.read(words, header.rows);
      if (table.bytes() <= block_bytes) continue;
      table.compact();
      if (table.bytes() > block_bytes / 2) flush(static_cast<TableId>(header.table));
    }
  }

  void send(BlockHeader header) const {
    real.Send(&header, sizeof header, MPI_BYTE, tree_.parent, header_tag, comm_);
  }

  void flush(TableId id) {
    Table &table = tables_[static_cast<unsigned>(id)];
    table.compact();
    if (table.rows() == 0) return;
    if (tree_.parent < 0) {
      store_(id, table);
    } else {
      send({static_cast<std::uint64_t>(id), table.rows()});
      Words words;
      table.write(words);
      real.Send(words.data(), static_cast<int>(words.size()), MPI_UINT64_T, tree_.parent, rows_tag, comm_);
    }
    table.clear();
  }

  MPI_Comm comm_;
  const Tree &tree_;
  std::vector<Table> &tables_;
  const std::function<void(TableId, const Table &)> &store_;
};

} // namespace

Names reduce(MPI_Comm comm, Contents &mine, const std::function<void(TableId, const Table &)> &store) {
  int rank = 0;
  int size = 0;
  real.Comm_rank(comm, &rank);
  real.Comm_size(comm, &size);
  const Tree tree{rank, size};
  Names names = unite_names(comm, tree, mine.names);
  Names common = names;
  const Names::Renumbering numbers = common.absorb(mine.names);
  for (auto &table : mine.tables) table.renumber(numbers.strings, numbers.paths);
  Blocks{comm, tree, mine.tables, store}.run();
  return names;
}

} // namespace haloscope::watch
