#include "watch/live/now.hpp"

#include "watch/live/live.hpp"
#include "watch/live/live_json.hpp"
#include "watch/records/open_call.hpp"

#include <cstring>
#include <map>
#include <ranges>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace haloscope::watch {

namespace {

std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// A moment by the clock of this node, whose ticks are those of its processes.
struct Moment {
  std::uint64_t now = 0;
  double rate = 0; // seconds of a tick; 0: not known

  explicit Moment(const ProcessRecord &process) {
    const ClockPair pair = ClockPair::now();
    // A record of another node, or from before the node was started.
    if (this_host() != process.host.data() || pair.tick < process.first.tick) return;
    now = pair.tick;
    rate = seconds_per_tick(process.first, pair);
  }
  [[nodiscard]] bool is_known() const noexcept { return rate > 0; }
  [[nodiscard]] double since(std::uint64_t tick) const noexcept {
    return now > tick ? static_cast<double>(now - tick) * rate : 0;
  }
};

// NOLINTNEXTLINE(misc-multiple-inheritance): the sums that are declared, and others
struct Sums : CountedOften, CountedRarely {
  Quantities now{};
};

class Look : LiveJson {
public:
  Look(const Arena &arena, const ProcessRecord &process, bool partners)
      : LiveJson(arena), process_(process), moment_(process), with_partners_(partners) {}

  std::string line(const std::string &path) {
    json_.open('{').key("path").string(path);
    put_process();
    put_threads();
    put_communicators();
    if (with_partners_) put_partners();
    return json_.close('}').take();
  }

private:
  void put_process() {
    json_.key("world").string(std::to_string(process_.world));
    json_.key("rank").number(std::int64_t{process_.rank}).key("size").number(std::int64_t{process_.size});
    json_.key("pid").number(std::int64_t{process_.pid}).key("host").string(process_.host.data());
    json_.key("program").string(process_.program.data()).key("command").string(process_.command.data());
    json_.key("output").string(process_.output.data()).key("start").number(process_.start);
    json_.key("elapsed").number(moment_.is_known() ? moment_.since(process_.first.tick) : 0.0);
    json_.key("finalized").truth(process_.finalized).key("watched").truth(process_.watched);
  }

  // The newest comes first in the record; the one that called MPI_Init is the last.
  void put_threads() {
    std::vector<const ThreadRecord *> threads;
    for (const ThreadRecord *thread = valid(process_.threads.load()); thread != nullptr;
         thread = valid(thread->next))
      threads.insert(threads.begin(), thread);
    json_.key("threads").open('[');
    for (const ThreadRecord *thread : threads) put_thread(*thread);
    json_.close(']');
  }

  void put_thread(const ThreadRecord &thread) {
    Sums sums{};
    if (const Node *root = valid(thread.root)) add(sums, *root, latest_tick(thread));
    const Recorder *recorder = valid(thread.recorder);
    const OpenCall open = recorder == nullptr ? OpenCall{} : open_call(*recorder, thread);
    json_.open('{').key("region").open('[');
    if (recorder != nullptr) put_region(valid(recorder->position));
    json_.close(']').key("call");
    open.function < function_count ? put_call(open) : void(json_.null());
    put_seconds("idle", thread.newest);
    json_.key("mark").number(thread.newest).key("tid").number(std::int64_t{thread.tid});
    put_sums(sums, open);
    json_.close('}');
  }

  void put_region(const Node *node) {
    std::vector<std::string_view> names;
    for (; node != nullptr && node->parent != nullptr && names.size() <= deepest_region;
         node = valid(node->parent))
      names.push_back(text(node->name));
    for (const std::string_view name : std::views::reverse(names)) json_.string(name);
  }

  void put_seconds(const char *name, std::uint64_t since) {
    json_.key(name);
    moment_.is_known() && since != 0 ? json_.number(moment_.since(since)) : json_.null();
  }

  void put_call(const OpenCall &open) {
    constexpr const char *whats[] = {"other",      "send",      "receive", "exchange",
                                     "collective", "one_sided", "requests"};
    constexpr const char *kinds[] = {"", "send", "receive", "receive", "collective", "one_sided", "io"};
    const Doing &doing = open.doing;
    const bool waits = doing.what == Doing::requests;
    auto kind = static_cast<std::size_t>(open.waits_for());
    if (kind >= std::size(kinds)) kind = 0;
    // Other members of `doing` are left over from an earlier call.
    const bool is_told = doing.what != Doing::other && doing.what < std::size(whats) && (!waits || kind != 0);
    const bool is_collective = doing.what == Doing::collective || open.waits_for() == Pending::collective;
    const Communicator *used =
        is_told && doing.what != Doing::one_sided ? communicator(doing.communicator) : nullptr;
    json_.open('{').key("function").string(function_names[open.function]);
    json_.key("what").string(doing.what < std::size(whats) ? whats[doing.what] : "other");
    json_.key("kind").string(kinds[kind]).key("partner");
    put_rank(json_, is_told && !(waits && is_collective) ? doing.partner : no_number, used);
    json_.key("source");
    put_rank(json_, doing.what == Doing::exchange ? doing.source : no_number, used);
    json_.key("tag");
    put_tag(json_, is_told && !is_collective && doing.what != Doing::one_sided ? doing.tag : no_number);
    json_.key("communicator");
    used == nullptr ? json_.null() : json_.number(place_of(*used));
    json_.key("count").number(std::int64_t{waits ? doing.count : 0}).key("bytes");
    is_told && !is_collective && doing.bytes != unknown_bytes ? json_.number(doing.bytes) : json_.null();
    put_seconds("since", open.since);
    json_.key("mark").number(open.since).close('}');
  }

  std::int64_t place_of(const Communicator &used) {
    const auto found = std::ranges::find(communicators_, &used);
    if (found == communicators_.end()) communicators_.push_back(&used);
    return std::ranges::find(communicators_, &used) - communicators_.begin();
  }

  void put_communicators() {
    json_.key("communicators").open('[');
    for (const Communicator *used : communicators_) {
      json_.open('{').key("name").string(text(used->name)).key("size").number(std::int64_t{used->size});
      json_.key("members").string(std::to_string(used->members)).key("inter").truth(used->inter).key("ranks");
      put_members(*used);
      json_.close('}');
    }
    json_.close(']');
  }

  void put_members(const Communicator &used) {
    if (used.ranks != nullptr || used.inter) {
      if (used.inter || valid(used.ranks, used.size) == nullptr) {
        json_.null();
        return;
      }
      json_.open('[');
      for (std::uint32_t i = 0; i < used.size; i++) json_.number(std::int64_t{used.ranks[i]});
      json_.close(']');
      return;
    }
    if (used.id != 0 && used.stride == 0) { // too many to be kept
      json_.null();
      return;
    }
    json_.open('{').key("first").number(std::int64_t{used.id == 0 ? 0 : used.first_rank});
    json_.key("stride").number(std::int64_t{used.id == 0 ? 1 : used.stride});
    json_.key("count").number(std::int64_t{used.size}).close('}');
  }

  void add(Sums &sums, const Node &node, std::uint64_t latest, unsigned depth = 0) {
    if (depth > deepest_region) return;
    add_counted(sums, node);
    add_settled(sums, settle(node, latest).more);
    for (unsigned q = 0; q < quantities; q++) sums.now[q] += node.now[q];
    if (with_partners_) add_partners(node);
    for (const Node *child = valid(node.first_child); child != nullptr && child->parent == &node;
         child = valid(child->next_sibling))
      add(sums, *child, latest, depth + 1);
  }

  void put_sums(Sums &sums, const OpenCall &open) {
    const std::uint64_t lasts = open && moment_.is_known() ? open.lasted(moment_.now) : 0;
    if (lasts > 0) add_time(sums, open, lasts);
    json_.key("sums").open('{');
    const auto time = [&](const char *name, std::uint64_t ticks) {
      json_.key(name).number(static_cast<double>(ticks) * (moment_.is_known() ? moment_.rate : 0));
    };
    time("p2p_time", sums.p2p_ticks);
    time("coll_time", sums.coll_ticks);
    time("rma_time", sums.rma_ticks);
    time("io_time", sums.io_ticks);
    time("other_time", sums.other_ticks);
    time("poll_time", sums.poll_ticks);
    time("wait_time", sums.wait_ticks);
    json_.key("sends").number(sums.now[sends]).key("recvs").number(sums.now[recvs]);
    json_.key("bytes_sent").number(sums.now[bytes_sent]).key("bytes_recv").number(sums.now[bytes_recv]);
    json_.key("colls").number(sums.now[colls]).key("coll_bytes").number(sums.coll_bytes);
    json_.key("polls").number(sums.polls).close('}');
  }

  void add_partners(const Node &node) {
    for (const Partner *partner = valid(node.partners); partner != nullptr; partner = valid(partner->next)) {
      auto &[sent, received] = partners_[partner->rank];
      sent += partner->p2p.sends;
      received += partner->p2p.recvs;
    }
    each(node.messages, [&](const MessageRecord &record) {
      const Partner *partner = valid(record.partner);
      if (partner == nullptr) return;
      const std::uint64_t message = message_of_what(record.key.what);
      auto &[sent, received] = partners_[partner->rank];
      (message == arrived || message == exchanged ? received : sent) += record.messages;
    });
  }

  void put_partners() {
    json_.key("partners").open('[');
    for (const auto &[rank, traffic] : partners_)
      json_.open('[').number(std::int64_t{rank}).number(traffic.first).number(traffic.second).close(']');
    json_.close(']');
  }

  const ProcessRecord &process_;
  Moment moment_;
  bool with_partners_;
  Json json_;
  std::vector<const Communicator *> communicators_; // of the calls that are open
  std::map<std::int32_t, std::pair<std::uint64_t, std::uint64_t>> partners_;
};

} // namespace

int print_now(std::span<char *const> words) {
  const bool partners = std::strcmp(words[0], "--partners") == 0;
  for (const auto &file : live_files(partners ? words.subspan(1) : words))
    with_records(file, [&](const Arena &arena, const ProcessRecord &process) {
      const std::string line = Look{arena, process, partners}.line(file);
      std::fwrite(line.data(), 1, line.size(), stdout);
    });
  return 0;
}

} // namespace haloscope::watch
