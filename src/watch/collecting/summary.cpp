#include "watch/collecting/summary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <string_view>

namespace haloscope::watch {

namespace {

constexpr std::uint64_t most_ranks = std::uint64_t{1} << 24U; // more are damage
// The largest numbers of entries in `info`. The tables have all of them.
constexpr std::size_t most_hosts = 1024, most_said = std::size_t{64} << 10U;

// Columns of `ranks` whose sums over ranks and regions are in `info`. The last time is a part of the others.
constexpr std::array<const char *, 7> summed_times{"p2p_time",   "coll_time", "rma_time", "io_time",
                                                   "other_time", "poll_time", "wait_time"};
constexpr std::array<const char *, 8> summed{"sends",   "bytes_sent", "colls",  "coll_bytes",
                                             "rma_ops", "rma_bytes",  "io_ops", "io_bytes"};

class Columns {
public:
  explicit Columns(const Table &table) : table_(&table) {}
  const Words &operator[](std::string_view name) const { return table_->column(place(name)); }
  [[nodiscard]] double sum(std::string_view name) const {
    const bool is_real = table_->schema().columns[place(name)].type == Type::real;
    double sum = 0;
    for (const auto value : (*this)[name])
      sum += is_real ? std::bit_cast<double>(value) : static_cast<double>(value);
    return sum;
  }

private:
  [[nodiscard]] std::size_t place(std::string_view name) const {
    const auto columns = table_->schema().columns;
    const auto found =
        std::ranges::find(columns, name, [](const Column &c) { return std::string_view{c.name}; });
    return static_cast<std::size_t>(found - columns.begin());
  }
  const Table *table_;
};

double in_mpi(const std::array<double, 7> &times) {
  return std::accumulate(times.begin(), times.end() - 1, 0.0);
}

Value whole(std::uint64_t value) { return {static_cast<std::int64_t>(value)}; }

} // namespace

Totals::Rank *Totals::rank(std::uint64_t number) {
  if (number >= most_ranks) return nullptr;
  if (number >= ranks_.size()) ranks_.resize(number + 1);
  return &ranks_[number];
}

void Totals::add(TableId id, const Table &rows) {
  if (rows.rows() == 0) return;
  if (id == TableId::processes) add_processes(rows);
  if (id == TableId::ranks) add_times(rows, false);
  if (id == TableId::ranks) add_counts(rows);
  if (id == TableId::main_thread) add_times(rows, true);
  if (id == TableId::trace_clocks) lost += static_cast<std::uint64_t>(Columns{rows}.sum("lost"));
  if (id == TableId::metadata) add_metadata(rows);
}

void Totals::add_processes(const Table &rows) {
  const Columns columns{rows};
  dropped_ += static_cast<std::uint64_t>(columns.sum("dropped"));
  spilled_ += static_cast<std::uint64_t>(columns.sum("sizes_spilled"));
  open_calls_ += static_cast<std::uint64_t>(columns.sum("open_calls"));
  for (std::size_t i = 0; i < rows.rows(); i++) {
    Rank *of = rank(columns["rank"][i]);
    if (of == nullptr) continue;
    of->there = true;
    of->watched = columns["watched"][i] != 0;
    of->host = columns["host"][i];
    of->duration = std::bit_cast<double>(columns["duration"][i]);
  }
}

void Totals::add_times(const Table &rows, bool is_main) {
  const Columns columns{rows};
  for (std::size_t time = 0; time < summed_times.size(); time++)
    for (std::size_t i = 0; i < rows.rows(); i++)
      if (Rank *of = rank(columns["rank"][i]))
        (is_main ? main_[columns["rank"][i]] : of->times)[time] +=
            std::bit_cast<double>(columns[summed_times[time]][i]);
}

void Totals::add_counts(const Table &rows) {
  sums_.resize(summed.size());
  for (std::size_t i = 0; i < summed.size(); i++) sums_[i] += Columns{rows}.sum(summed[i]);
}

Totals::Times Totals::times_of(std::size_t rank) const {
  const auto main = main_.find(rank);
  return main == main_.end() ? ranks_[rank].times : main->second;
}

void Totals::add_metadata(const Table &rows) {
  const Columns columns{rows};
  for (std::size_t i = 0; i < rows.rows(); i++)
    said_.push_back({columns["kind"][i], columns["key"][i], columns["value"][i], columns["ranks"][i],
                     columns["first"][i]});
}

// Returns per host, the host of rank 0 first, its ranks that recorded and their mean computing time.
Info Totals::hosts(const Names &names) const {
  struct Host {
    std::int64_t ranks = 0;
    double compute = 0;
  };
  std::map<std::uint64_t, Host> hosts;
  std::vector<std::uint64_t> order;
  for (std::size_t i = 0; i < ranks_.size(); i++) {
    const Rank &of = ranks_[i];
    if (!of.there) continue;
    const auto [place, fresh] = hosts.try_emplace(of.host);
    if (fresh) order.push_back(of.host);
    if (!of.watched) continue;
    place->second.ranks++;
    place->second.compute += std::max(of.duration - in_mpi(times_of(i)), 0.0);
  }
  Info info{{"hosts", whole(order.size())}};
  if (order.size() > most_hosts) return info;
  std::vector<std::string> named;
  std::vector<std::int64_t> ranks;
  std::vector<double> compute;
  for (const auto host : order) {
    named.push_back(names.strings.at(host));
    ranks.push_back(hosts[host].ranks);
    compute.push_back(hosts[host].compute / static_cast<double>(std::max<std::int64_t>(ranks.back(), 1)));
  }
  info.insert(info.end(), {{"host_names", {named}}, {"host_ranks", {ranks}}, {"host_compute", {compute}}});
  return info;
}

Info Totals::roll_up(const Names &names) const {
  Info info = hosts(names);
  double duration = 0;
  Times times{};
  for (std::size_t i = 0; i < ranks_.size(); i++) {
    if (ranks_[i].there && ranks_[i].watched) duration += ranks_[i].duration;
    std::ranges::transform(times, times_of(i), times.begin(), std::plus{});
  }
  info.insert(info.end(), {{"rank_time", {duration}}, {"mpi_time", {in_mpi(times)}}});
  for (std::size_t i = 0; i < times.size(); i++) info.push_back({summed_times[i], Value{times[i]}});
  for (std::size_t i = 0; i < sums_.size(); i++) info.push_back({summed[i], Value{sums_[i]}});
  return info;
}

// The value of rank 0, else that of most ranks.
void Totals::add_said(Info &info, const Names &names) const {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Said> chosen;
  std::vector<std::string> differing;
  for (const Said &one : said_) {
    const auto [place, fresh] = chosen.try_emplace({one.kind, one.key}, one);
    if (fresh) continue;
    if (names.strings.at(one.kind) == "user") differing.push_back(names.strings.at(one.key));
    Said &best = place->second;
    if (std::pair{one.first, one.ranks} > std::pair{best.first, best.ranks}) best = one;
  }
  std::map<std::string, Info> kinds;
  std::size_t bytes = 0;
  std::uint64_t without = 0;
  for (const auto &[key, one] : chosen) {
    const std::string &name = names.strings.at(one.key), &value = names.strings.at(one.value);
    const bool fits = bytes + name.size() + value.size() <= most_said;
    bytes += fits ? name.size() + value.size() : 0;
    without += fits ? 0 : 1;
    if (fits) kinds[names.strings.at(one.kind)].push_back({name, Value{value}});
  }
  std::ranges::sort(differing);
  const auto repeated = std::ranges::unique(differing);
  differing.erase(repeated.begin(), repeated.end());
  if (differing.size() > most_hosts) differing.resize(most_hosts);
  for (auto &[kind, entries] : kinds) {
    std::ranges::sort(entries, {}, [](const auto &entry) { return entry.key; });
    info.push_back({kind == "user" ? "metadata" : kind, Value{std::move(entries)}});
  }
  if (!differing.empty()) info.push_back({"metadata_differs", Value{std::move(differing)}});
  if (without > 0) info.push_back({"metadata_left_out", whole(without)});
}

Info Totals::info(const Names &names) const {
  double duration = 0;
  std::vector<std::int64_t> unwatched;
  for (std::size_t i = 0; i < ranks_.size(); i++) {
    duration = std::max(duration, ranks_[i].duration);
    if (ranks_[i].there && !ranks_[i].watched) unwatched.push_back(static_cast<std::int64_t>(i));
  }
  Info info{
      {"duration", {duration}},    {"unwatched_ranks", {unwatched}},   {"open_calls", whole(open_calls_)},
      {"ended_in", {ended_in}},    {"dropped", whole(dropped_)},       {"rows_left_out", whole(left_out)},
      {"trace_lost", whole(lost)}, {"sizes_spilled", whole(spilled_)}, {"rollup", {roll_up(names)}}};
  add_said(info, names);
  return info;
}

Info make_info(const ProcessRecord &any, const Totals &totals, const Names &names,
               const std::vector<std::int64_t> &missing, bool finalized, const char *interface_name) {
  const std::string standard = std::to_string(any.mpi_version) + "." + std::to_string(any.mpi_subversion);
  Info info{{"program", {std::string{any.program.data()}}},
            {"command", {std::string{any.command.data()}}},
            {"mpi_library", {std::string{any.library.data()}}},
            {"mpi_standard", {standard}},
            {"mpi_abi", {std::string{interface_name}}},
            {"ranks", {std::int64_t{any.size}}},
            {"start", {any.start}},
            {"partial", {!missing.empty() || !finalized}},
            {"missing_ranks", {missing}},
            {"exact_times", {any.settings.exact_times}},
            {"trace",
             {std::string{!any.trace.wanted   ? ""
                          : any.trace.compact ? "compact"
                                              : "full"}}},
            {"sync_collectives", whole(any.settings.sync_collectives)},
            {"only", {std::string{any.only.data()}}},
            {"series", {std::string{any.series.data()}}},
            {"run", {std::string{any.run.data()}}},
            {"from", {any.settings.after}},
            {"until", {any.settings.until}},
            {"version", {std::string{HALOSCOPE_VERSION}}}};
  Info more = totals.info(names);
  info.insert(info.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return info;
}

} // namespace haloscope::watch
