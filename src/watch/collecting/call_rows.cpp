#include "watch/collecting/call_rows.hpp"

#include "watch/collecting/rows.hpp"

#include <string>

namespace haloscope::watch {

namespace {

// MPI_Iallreduce, MPI_Allreduce_init and MPI_Allreduce_c are the operation Allreduce.
std::string operation_name(std::string_view function) {
  std::string name{function.substr(4)};
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  if (name.ends_with("_init")) name.resize(name.size() - 5);
  if (name.size() > 1 && name[0] == 'I' && name[1] >= 'a' && name[1] <= 'z') {
    name.erase(0, 1);
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  return name;
}

} // namespace

void CallRows::add(std::uint64_t path, const Node &node, const SettledTimes &times) {
  add_calls(path, node.calls, Memory::host, times);
  for (const Memory memory : {Memory::device, Memory::managed})
    if (const CallPages *pages = valid(node.calls_apart[number_of(memory) - 1]))
      add_calls(path, *pages, memory, times);
  add_transfers(path, node);
  add_nccl(path, node);
  add_sizes(path, node, times);
  add_collectives(path, node);
}

void CallRows::add(std::uint64_t path, const OpenCall &open, std::uint64_t ticks) {
  append_call(rows::Calls{.path = path,
                          .call = string(function_names[open.function]),
                          .memory = memory(open.function, open.memory),
                          .calls = 1,
                          .bytes = 0,
                          .time_total = seconds(ticks),
                          .time_max = seconds(ticks)});
}

void CallRows::add_calls(std::uint64_t path, const CallPages &pages, Memory of, const SettledTimes &times) {
  for (unsigned i = 0; i < function_count; i++) {
    const CallPage *page = valid(pages[i / calls_per_page]);
    if (page == nullptr) continue;
    const CallRecord &call = page->records[i % calls_per_page];
    const double estimated = times.ticks(page->estimated[i % calls_per_page]);
    // Calls that send have only their times here: MessageRows adds their numbers.
    if (call.calls == 0 && call.ticks == 0) continue;
    append_call(rows::Calls{.path = path,
                            .call = string(function_names[i]),
                            .memory = memory(i, of),
                            .calls = call.calls,
                            .bytes = call.bytes,
                            .time_total = seconds(call.ticks) + estimated * tick(),
                            .time_max = seconds(call.longest)});
    if (function_unaccounted[i] && call.calls > 0)
      append(rows::Unaccounted{.call = string(function_names[i]), .calls = call.calls});
  }
}

void CallRows::add_transfers(std::uint64_t path, const Node &node) {
  const TransferPage *page = valid(node.transfers);
  if (page == nullptr) return;
  for (const TransferRecord &record : *page)
    if (record.messages > 0)
      append(rows::Transfers{.path = path,
                             .protocol = string(text(record.protocol.data())),
                             .messages = record.messages,
                             .bytes = record.bytes,
                             .chunks = record.chunks,
                             .helpers = record.helpers,
                             .time_total = 1e-9 * static_cast<double>(record.nanoseconds),
                             .time_max = 1e-9 * static_cast<double>(record.longest)});
}

void CallRows::add_nccl(std::uint64_t path, const Node &node) {
  for (const NcclRecord *record = valid(node.nccl); record != nullptr; record = valid(record->next)) {
    const auto &[operation, algorithm, protocol, channels, size, bytes] = record->key;
    append(rows::Nccl{.path = path,
                      .operation = string(text(operation.data())),
                      .algorithm = string(text(algorithm.data())),
                      .protocol = string(text(protocol.data())),
                      .channels = channels,
                      .comm_size = size,
                      .bytes = bytes,
                      .calls = record->calls.load(),
                      .time_total = seconds(record->ticks.load()),
                      .time_max = seconds(record->longest.load())});
  }
}

void CallRows::add_sizes(std::uint64_t path, const Node &node, const SettledTimes &times) {
  each(node.sizes, [&](const SizeRecord &size) {
    const auto [bytes, upper] = range_of((size.key & size_range) | bytes_of_size(size.key));
    const double part = kind_of_size(size.key) == Kind::p2p ? times.messages : 1;
    append(rows::Sizes{.path = path,
                       .kind = kind(kind_of_size(size.key)),
                       .memory = memory(memory_of_size(size.key)),
                       .bytes = bytes,
                       .bytes_upper = upper,
                       .messages = size.messages,
                       .time_total = part * seconds(size.ticks)});
  });
}

void CallRows::add_collectives(std::uint64_t path, const Node &node) {
  each(node.collectives, [&](const CollectiveRecord &record) {
    const std::uint64_t function = function_of_operation(record.key.operation_and_size);
    if (function >= function_count) return;
    const auto [bytes, upper] = range_of(record.key.bytes);
    const Memory of = memory_of_operation(record.key.operation_and_size);
    append(rows::Collectives{.path = path,
                             .operation = string(operation_name(function_names[function])),
                             .comm_size = record.key.operation_and_size & 0xFFFF'FFFFU,
                             .bytes = bytes,
                             .calls = record.calls,
                             .time_total = seconds(record.ticks),
                             .time_max = seconds(record.longest)});
    append(rows::Sizes{.path = path,
                       .kind = kind(Kind::coll),
                       .memory = memory(static_cast<unsigned>(function), of),
                       .bytes = bytes,
                       .bytes_upper = upper,
                       .messages = record.calls,
                       .time_total = seconds(record.ticks)});
  });
}

} // namespace haloscope::watch
