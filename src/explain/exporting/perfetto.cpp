// Writes a trace as Perfetto's own: slices on a track for each thread, arrows from sends to receives. Called
// by python/haloscope/explain/export/perfetto.py.
//
// A location is a sequence of packets with names that are said once, and times relative to the packet before.
#include <cerrno>
#include <cstdint>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "explain/exporting/flows.hpp"
#include "explain/exporting/walk.hpp"
#include "explain/exporting/wire.hpp"
#include "explain/public.hpp"

namespace haloscope::exporting {

namespace {

// Texts for numbers in the columns. `pids` and `processes`, `tids` and `threads` are per location.
struct Names {
  const char *const *functions;
  const char *const *paths;
  const char *const *processes;
  const char *const *threads;
  const int32_t *pids;
  const int32_t *tids;
  int64_t function_count;
};

// Field numbers of the messages in Perfetto's trace_packet.proto and the files that it imports.
namespace packet {
constexpr uint32_t clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11, interned = 12,
                   flags = 13, defaults = 59, track_descriptor = 60;
constexpr uint64_t cleared = 1, needs_state = 2;
} // namespace packet
namespace defaults {
constexpr uint32_t track_event = 11, track = 11, clock = 58;
}
namespace event {
constexpr uint32_t category = 3, annotation = 4, type = 9, name = 10, flow = 47, flow_end = 48;
constexpr uint64_t begin = 1, end = 2;
} // namespace event
namespace interned {
constexpr uint32_t category = 1, name = 2, annotation = 3, number = 1, text = 2;
}
namespace annotation {
constexpr uint32_t name = 1, integer = 4;
}
namespace track {
constexpr uint32_t number = 1, process = 3, thread = 4, parent = 5;
constexpr uint32_t pid = 1, process_name = 6, tid = 2, thread_name = 5;
} // namespace track
namespace clocks {
constexpr uint32_t clock = 1, number = 1, time = 2, is_incremental = 3;
constexpr uint64_t boot = 6, ours = 64;
} // namespace clocks

namespace category {
constexpr uint64_t mpi = 1, region = 2;
}
// The annotations of a call.
enum Said : uint64_t { to = 1, from, tag, communicator, bytes, root, number, count };
constexpr const char *words[] = {"", "to", "from", "tag", "communicator", "bytes", "root", "number"};

class PerfettoWriter {
public:
  PerfettoWriter(const Columns &trace, const Names &names, int file, int aside)
      : trace_(trace), names_(names), flows_(trace, aside), output_(file),
        known_(static_cast<size_t>(names.function_count + trace.paths)) {}

  int finish() { return output_.flush(); }

  bool begin_location(int64_t l) {
    sequence_ = static_cast<uint64_t>(l) + 1;
    thread_ = thread_tracks + static_cast<uint64_t>(l);
    last_ = 0;
    known_.assign(known_.size(), false);
    describe_process(l);
    describe_thread(l);
    describe_clock();
    describe_sequence();
    return output_.error() == 0;
  }

  bool end_location() { return output_.error() == 0; }

  bool enter_region(int64_t time, int32_t path) {
    begin(category::region, static_cast<uint64_t>(names_.function_count + path));
    return write(time);
  }

  bool leave_region(int64_t time, int32_t) {
    end();
    return write(time);
  }

  bool enter_call(int64_t time, int64_t call, const Work &started) {
    begin(category::mpi, static_cast<uint64_t>(trace_.call_function(call)));
    tell(call, started);
    for (const int64_t send : started.sends)
      if (flows_.is_received(send)) event_.fixed(event::flow, flow(send));
    return write(time);
  }

  bool leave_call(int64_t time, int64_t, const Work &completed) {
    end();
    for (const int64_t receive : completed.receives) {
      const int64_t send = flows_.of_receive(receive);
      if (send >= 0) event_.fixed(event::flow_end, flow(send));
    }
    return write(time);
  }

private:
  // Tracks are numbered by rank and by location.
  static constexpr uint64_t process_tracks = uint64_t{1} << 40, thread_tracks = uint64_t{2} << 40;
  static uint64_t flow(int64_t send) { return static_cast<uint64_t>(send) + 1; }

  void begin(uint64_t category, uint64_t name) {
    event_.clear();
    interned_.clear();
    event_.number(event::type, event::begin);
    event_.number(event::category, category);
    event_.number(event::name, name + 1);
    if (known_[name]) return;
    known_[name] = true;
    const auto functions = static_cast<uint64_t>(names_.function_count);
    intern(interned::name, name + 1,
           name < functions ? names_.functions[name] : names_.paths[name - functions]);
  }

  void end() {
    event_.clear();
    interned_.clear();
    event_.number(event::type, event::end);
  }

  void tell(int64_t call, const Work &started) {
    if (started.sends.size() == 1) {
      tell_message(trace_.sends, started.sends[0], Said::to);
    } else if (started.receives.size() == 1) {
      tell_message(trace_.receives, started.receives[0], Said::from);
    } else if (started.collectives.size() == 1) {
      const int64_t row = started.collectives[0];
      say(Said::communicator, trace_.collectives.communicator[row]);
      say(Said::number, trace_.collectives.number[row]);
      if (trace_.collectives.root[row] >= 0) say(Said::root, trace_.collectives.root[row]);
      say(Said::bytes, trace_.collectives.bytes_sent[row]);
    } else if (trace_.call_bytes[call] >= 0) {
      say(Said::bytes, trace_.call_bytes[call]);
    }
  }

  void tell_message(const Messages &messages, int64_t row, Said direction) {
    if (messages.partner[row] >= 0) say(direction, messages.partner[row]);
    say(Said::tag, messages.tag[row]);
    say(Said::communicator, messages.communicator[row]);
    say(Said::bytes, messages.bytes[row]);
  }

  void say(Said what, int64_t value) {
    part_.clear();
    part_.number(annotation::name, what);
    part_.number(annotation::integer, static_cast<uint64_t>(value));
    event_.message(event::annotation, part_);
  }

  void intern(uint32_t kind, uint64_t number, const char *text) {
    part_.clear();
    part_.number(interned::number, number);
    part_.text(interned::text, text);
    interned_.message(kind, part_);
  }

  // Writes `event_`, and the names that it is the first to use.
  bool write(int64_t time) {
    packet_.clear();
    packet_.number(packet::timestamp, static_cast<uint64_t>(time - last_));
    last_ = time;
    packet_.message(packet::track_event, event_);
    if (!interned_.empty()) packet_.message(packet::interned, interned_);
    return send(packet::needs_state);
  }

  bool send(uint64_t flags) {
    packet_.number(packet::sequence, sequence_);
    if (flags != 0) packet_.number(packet::flags, flags);
    framed_.clear();
    framed_.message(1, packet_);
    output_.write(framed_.view());
    return output_.error() == 0;
  }

  void describe_process(int64_t l) {
    part_.clear();
    part_.number(track::pid, static_cast<uint64_t>(names_.pids[l]));
    part_.text(track::process_name, names_.processes[l]);
    describe(process_tracks + static_cast<uint64_t>(trace_.ranks[l]), track::process, 0);
  }

  void describe_thread(int64_t l) {
    part_.clear();
    part_.number(track::pid, static_cast<uint64_t>(names_.pids[l]));
    part_.number(track::tid, static_cast<uint64_t>(names_.tids[l]));
    part_.text(track::thread_name, names_.threads[l]);
    describe(thread_, track::thread, process_tracks + static_cast<uint64_t>(trace_.ranks[l]));
  }

  void describe(uint64_t number, uint32_t kind, uint64_t parent) {
    event_.clear();
    event_.number(track::number, number);
    if (parent != 0) event_.number(track::parent, parent);
    event_.message(kind, part_);
    packet_.clear();
    packet_.message(packet::track_descriptor, event_);
    send(0);
  }

  // A time of our clock is the time of the first packet plus the differences since.
  void describe_clock() {
    packet_.clear();
    event_.clear();
    for (const uint64_t number : {clocks::boot, clocks::ours}) {
      part_.clear();
      part_.number(clocks::number, number);
      part_.number(clocks::time, 0);
      if (number == clocks::ours) part_.number(clocks::is_incremental, 1);
      event_.message(clocks::clock, part_);
    }
    packet_.message(packet::clock_snapshot, event_);
    send(packet::cleared);
  }

  void describe_sequence() {
    interned_.clear();
    intern(interned::category, category::mpi, "MPI");
    intern(interned::category, category::region, "region");
    for (uint64_t word = Said::to; word < Said::count; ++word)
      intern(interned::annotation, word, words[word]);
    part_.clear();
    part_.number(defaults::track, thread_);
    event_.clear();
    event_.number(defaults::clock, clocks::ours);
    event_.message(defaults::track_event, part_);
    packet_.clear();
    packet_.message(packet::defaults, event_);
    packet_.message(packet::interned, interned_);
    send(packet::cleared);
  }

  const Columns &trace_;
  const Names &names_;
  Flows flows_;
  Output output_;
  std::vector<bool> known_; // names that this sequence has said
  uint64_t sequence_ = 0;
  uint64_t thread_ = 0;
  int64_t last_ = 0;
  Message packet_, event_, interned_, part_, framed_;
};

} // namespace
} // namespace haloscope::exporting

// Returns 0, or errno of what went wrong. `aside` is an empty file.
HALOSCOPE_PUBLIC int haloscope_perfetto(const haloscope::exporting::Columns *trace,
                                        const haloscope::exporting::Names *names, int file, int aside) {
  try {
    haloscope::exporting::PerfettoWriter writer(*trace, *names, file, aside);
    haloscope::exporting::Walk(*trace, writer).run();
    return writer.finish();
  } catch (const std::system_error &error) {
    return error.code().value();
  } catch (const std::exception &) {
    return ENOMEM;
  }
}
