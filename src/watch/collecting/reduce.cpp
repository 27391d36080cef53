#include "watch/collecting/reduce.hpp"

#include "watch/collecting/channel.hpp"
#include "watch/counting/state.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <span>
#include <utility>

namespace haloscope::watch {

namespace {

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

Words to_words(const Names &names) {
  const std::string packed = names.pack();
  Words words(1 + (packed.size() + sizeof words.front() - 1) / sizeof words.front());
  words[0] = packed.size();
  std::memcpy(words.data() + 1, packed.data(), packed.size());
  return words;
}

Names to_names(const Words &words) {
  return Names::unpack({reinterpret_cast<const char *>(words.data() + 1), words.front()});
}

// Union of all names up the tree, then to everybody.
Names unite_names(const Channel &channel, const Tree &tree, const Names &mine) {
  Names names = mine;
  for (const int child : tree.children) names.absorb(to_names(channel.receive(child)));
  Words united = to_words(names);
  if (tree.parent >= 0) {
    channel.send(united, tree.parent);
    united = channel.receive(tree.parent);
  }
  for (const int child : std::views::reverse(tree.children)) channel.send(united, child);
  return to_names(united);
}

// A message of rows is any number of blocks, each the table, the number of rows and the rows; behind
// the last block of all stands `table_count`.
class Blocks {
public:
  Blocks(const Channel &channel, const Tree &tree, Contents &mine,
         const std::function<void(TableId, const Table &)> &store)
      : channel_(channel), tree_(tree), tables_(mine.tables), times_(mine.times), store_(store) {}

  void run() {
    for (unsigned i = 0; i < table_count; i++)
      if (tables_[i].bytes() > block_bytes) flush(static_cast<TableId>(i));
    add_times();
    for (const int child : tree_.children)
      while (!take(channel_.receive(child))) {
      }
    for (unsigned i = 0; i < table_count; i++) flush(static_cast<TableId>(i));
    pending_.push_back(table_count);
    if (tree_.parent >= 0) channel_.send(pending_, tree_.parent);
  }

private:
  // Both tables of times at once: their rows are in one order.
  void add_times() {
    Table &words = tables_[static_cast<unsigned>(TableId::trace_words)];
    for (auto &times : times_)
      while (times.next(tables_[static_cast<unsigned>(TableId::trace_pieces)], words))
        if (words.bytes() > block_bytes) {
          flush(TableId::trace_pieces);
          flush(TableId::trace_words);
        }
  }

  // Returns whether it was the last message of this child.
  bool take(std::span<const std::uint64_t> words) {
    while (!words.empty()) {
      const std::uint64_t id = words[0];
      if (id >= table_count) return true;
      Table &table = tables_[id];
      const std::size_t rows = words[1];
      const std::size_t size = rows * table.schema().columns.size();
      table.read(words.subspan(2, size), rows);
      words = words.subspan(2 + size);
      if (table.bytes() <= block_bytes) continue;
      table.compact();
      if (table.bytes() > block_bytes / 2) flush(static_cast<TableId>(id));
    }
    return false;
  }

  void flush(TableId id) {
    Table &table = tables_[static_cast<unsigned>(id)];
    table.compact();
    if (tree_.parent < 0 && table.rows() > 0) store_(id, table);
    if (tree_.parent >= 0) send(id, table);
    table.clear();
  }

  void send(TableId id, const Table &table) {
    const std::size_t block_rows = block_bytes / (8 * table.schema().columns.size());
    for (std::size_t first = 0; first < table.rows(); first += block_rows) {
      const std::size_t rows = std::min(block_rows, table.rows() - first);
      const Words words = table.write(first, rows);
      pending_.insert(pending_.end(), {static_cast<std::uint64_t>(id), rows});
      pending_.insert(pending_.end(), words.begin(), words.end());
      if (pending_.size() * sizeof pending_.front() <= block_bytes / 2) continue;
      channel_.send(pending_, tree_.parent);
      pending_.clear();
    }
  }

  const Channel &channel_;
  const Tree &tree_;
  std::vector<Table> &tables_;
  std::vector<TraceTimes> &times_;
  const std::function<void(TableId, const Table &)> &store_;
  Words pending_; // to be sent; under half a block between blocks
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
  Blocks{channel, tree, mine, store}.run();
  const Words written = tree.parent < 0 ? Words{finish(names) ? 1U : 0U} : channel.receive(tree.parent);
  for (const int child : std::views::reverse(tree.children)) channel.send(written, child);
  return written.front() != 0;
}

} // namespace haloscope::watch
