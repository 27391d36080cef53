// docs/format.md, section Tables, as data.
#include "watch/tables.hpp"

#include <array>

namespace haloscope::watch {

namespace {

constexpr Column path{"path", Type::integer, Merge::key, "", true};
constexpr Column rank{"rank", Type::integer, Merge::key};
constexpr Column key(const char *name) { return {name, Type::integer, Merge::key}; }
constexpr Column text(const char *name) { return {name, Type::string, Merge::key}; }
constexpr Column count(const char *name) { return {name, Type::integer, Merge::sum}; }
constexpr Column bytes(const char *name) { return {name, Type::integer, Merge::sum, "B"}; }
constexpr Column seconds(const char *name, Merge merge = Merge::sum) {
  return {name, Type::real, merge, "s"};
}

// A rank describes itself once: nothing is ever put together.
constexpr std::array processes{
    rank,
    text("host"),
    key("pid"),
    seconds("start"),
    seconds("duration"),
    count("threads"),
    count("unmatched_begins"),
    count("unmatched_ends"),
    count("dropped"),
    count("finalized"),
    count("sizes_spilled"),
    count("watched"),
    seconds("tick"),
};

constexpr std::array ranks{
    path,
    rank,
    count("instances"),
    seconds("time"),
    count("sends"),
    count("recvs"),
    bytes("bytes_sent"),
    bytes("bytes_recv"),
    count("colls"),
    bytes("coll_bytes"),
    count("rma_ops"),
    bytes("rma_bytes"),
    count("io_ops"),
    bytes("io_bytes"),
    seconds("p2p_time"),
    seconds("coll_time"),
    seconds("rma_time"),
    seconds("io_time"),
    seconds("other_time"),
    seconds("wait_time"),
    seconds("skew_time"),
    bytes("largest_message"),
    count("dest_ranks"),
    count("src_ranks"),
    count("dest_ranks_exclusive"),
    count("src_ranks_exclusive"),
#define EXTREMES(x)                                                                                          \
  count(x "_instance_min"), count(x "_instance_max"), count(x "_instance_min_exclusive"),                    \
      count(x "_instance_max_exclusive")
    EXTREMES("sends"),
    EXTREMES("recvs"),
    EXTREMES("bytes_sent"),
    EXTREMES("bytes_recv"),
    EXTREMES("colls"),
    EXTREMES("dest_ranks"),
    EXTREMES("src_ranks"),
#undef EXTREMES
};

constexpr std::array calls{
    path,           text("call"),          count("calls"),
    bytes("bytes"), seconds("time_total"), seconds("time_max", Merge::most),
};

constexpr std::array sizes{
    path, text("kind"), key("bytes"), key("bytes_upper"), count("messages"), seconds("time_total"),
};

constexpr std::array partners{
    path,
    rank,
    key("partner"),
    count("sends"),
    bytes("bytes_sent"),
    count("recvs"),
    bytes("bytes_recv"),
    seconds("time"),
};

constexpr std::array collectives{
    path,
    text("operation"),
    key("comm_size"),
    key("bytes"),
    count("calls"),
    seconds("time_total"),
    seconds("time_max", Merge::most),
};

constexpr std::array communicators{
    text("name"), key("size"), key("members"), count("ranks"), count("calls"), bytes("bytes"),
};

constexpr std::array unaccounted{text("call"), count("calls")};

// Keys only: their rows stay in the order in which they came, in which one belongs to the other.
constexpr std::array series{path, rank, key("thread"), key("instance"), key("instances")};
constexpr std::array instances{Column{"packed", Type::integer, Merge::key, "", false, true}};

constexpr std::array values{
    path, rank, key("instance"), text("name"), Column{"value", Type::real, Merge::sum},
};

constexpr std::array slices{
    rank,
    key("slice"),
    seconds("start", Merge::most),
    seconds("duration", Merge::most),
    count("sends"),
    bytes("bytes_sent"),
    count("recvs"),
    bytes("bytes_recv"),
    count("colls"),
    bytes("coll_bytes"),
    count("rma_ops"),
    bytes("rma_bytes"),
    bytes("io_bytes"),
    seconds("p2p_time"),
    seconds("coll_time"),
    seconds("rma_time"),
    seconds("io_time"),
    seconds("wait_time"),
};

constexpr std::array transfers{
    path,
    text("protocol"),
    count("messages"),
    bytes("bytes"),
    count("chunks"),
    count("helpers"),
    seconds("time_total"),
    seconds("time_max", Merge::most),
};

const std::array<Schema, table_count> schemas{{
    {"processes", processes},
    {"ranks", ranks},
    {"calls", calls},
    {"sizes", sizes},
    {"partners", partners},
    {"neighbors", partners},
    {"collectives", collectives},
    {"communicators", communicators},
    {"unaccounted", unaccounted},
    {"series", series},
    {"instances", instances},
    {"values", values},
    {"slices", slices},
    {"transfers", transfers},
}};

} // namespace

const Schema &schema_of(TableId id) noexcept { return schemas[static_cast<unsigned>(id)]; }

} // namespace haloscope::watch
