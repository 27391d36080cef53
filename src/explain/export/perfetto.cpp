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

#include "explain/export/flows.hpp"
#include "explain/export/walk.hpp"
#include "explain/export/wire.hpp"

#define HALOSCOPE_PUBLIC extern "C" __attribute__((visibility("default")))

namespace haloscope::exporting {

namespace {

// What numbers of the columns mean. `pids` and `processes` are of locations, `tids` and `threads`, too.
struct Names {
  const char *const *functions;
  const char *const *paths;
  const char *const *processes;
  const char *const *threads;
  const int32_t *pids;
  const int32_t *tids;
  int64_t function_count;
};

// Fields of the messages in Perfetto's trace_packet.proto and its kin.
namespace packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                   kFlags = 13, kDefaults = 59, kTrackDescriptor = 60;
constexpr uint64_t kCleared = 1, kNeedsState = 2;
} // namespace packet
namespace defaults {
constexpr uint32_t kTrackEvent = 11, kTrack = 11, kClock = 58;
}
namespace event {
constexpr uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kFlow = 47, kFlowEnd = 48;
constexpr uint64_t kBegin = 1, kEnd = 2;
} // namespace event
namespace interned {
constexpr uint32_t kCategory = 1, kName = 2, kAnnotation = 3, kNumber = 1, kText = 2;
}
namespace annotation {
constexpr uint32_t kName = 1, kInteger = 4;
}
namespace track {
constexpr uint32_t kNumber = 1, kProcess = 3, kThread = 4, kParent = 5;
constexpr uint32_t kPid = 1, kProcessName = 6, kTid = 2, kThreadName = 5;
} // namespace track
namespace clocks {
constexpr uint32_t kClock = 1, kNumber = 1, kTime = 2, kIsIncremental = 3;
constexpr uint64_t kBoot = 6, kOurs = 64;
} // namespace clocks

constexpr uint64_t kMpi = 1, kRegion = 2; // categories
// What is said of a call.
enum Said : uint64_t { kTo = 1, kFrom, kTag, kCommunicator, kBytes, kRoot, kNumber, kSaid };
constexpr const char *kWords[] = {"", "to", "from", "tag", "communicator", "bytes", "root", "number"};

class Writer {
public:
  Writer(const Columns &trace, const Names &names, int file, int aside)
      : trace_(trace), names_(names), flows_(trace, aside), output_(file),
        known_(static_cast<size_t>(names.function_count + trace.paths)) {}

  int finish() { return output_.flush(); }

  bool begin_location(int64_t l) {
    sequence_ = static_cast<uint64_t>(l) + 1;
    thread_ = kThreads + static_cast<uint64_t>(l);
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
    begin(kRegion, static_cast<uint64_t>(names_.function_count + path));
    return write(time);
  }

  bool leave_region(int64_t time, int32_t) {
    end();
    return write(time);
  }

  bool enter_call(int64_t time, int64_t call, const Work &started) {
    begin(kMpi, static_cast<uint64_t>(trace_.call_function(call)));
    tell(call, started);
    for (int64_t i = 0; i < started.sends.size(); ++i) {
      if (flows_.is_received(started.sends[i])) event_.fixed(event::kFlow, flow(started.sends[i]));
    }
    return write(time);
  }

  bool leave_call(int64_t time, int64_t, const Work &completed) {
    end();
    for (int64_t i = 0; i < completed.receives.size(); ++i) {
      const int64_t send = flows_.of_receive(completed.receives[i]);
      if (send >= 0) event_.fixed(event::kFlowEnd, flow(send));
    }
    return write(time);
  }

private:
  // Tracks are numbered by rank and by location.
  static constexpr uint64_t kProcesses = uint64_t{1} << 40, kThreads = uint64_t{2} << 40;
  static uint64_t flow(int64_t send) { return static_cast<uint64_t>(send) + 1; }

  void begin(uint64_t category, uint64_t name) {
    event_.clear();
    interned_.clear();
    event_.number(event::kType, event::kBegin);
    event_.number(event::kCategory, category);
    event_.number(event::kName, name + 1);
    if (known_[name]) return;
    known_[name] = true;
    const auto functions = static_cast<uint64_t>(names_.function_count);
    intern(interned::kName, name + 1,
           name < functions ? names_.functions[name] : names_.paths[name - functions]);
  }

  void end() {
    event_.clear();
    interned_.clear();
    event_.number(event::kType, event::kEnd);
  }

  void tell(int64_t call, const Work &started) {
    if (started.sends.size() == 1) {
      tell_message(trace_.sends, started.sends[0], kTo);
    } else if (started.receives.size() == 1) {
      tell_message(trace_.receives, started.receives[0], kFrom);
    } else if (started.collectives.size() == 1) {
      const int64_t row = started.collectives[0];
      say(kCommunicator, trace_.collectives.communicator[row]);
      say(kNumber, trace_.collectives.number[row]);
      if (trace_.collectives.root[row] >= 0) say(kRoot, trace_.collectives.root[row]);
      say(kBytes, trace_.collectives.bytes_sent[row]);
    } else if (trace_.call_bytes[call] >= 0) {
      say(kBytes, trace_.call_bytes[call]);
    }
  }

  void tell_message(const Messages &messages, int64_t row, Said direction) {
    if (messages.partner[row] >= 0) say(direction, messages.partner[row]);
    say(kTag, messages.tag[row]);
    say(kCommunicator, messages.communicator[row]);
    say(kBytes, messages.bytes[row]);
  }

  void say(Said what, int64_t value) {
    part_.clear();
    part_.number(annotation::kName, what);
    part_.number(annotation::kInteger, static_cast<uint64_t>(value));
    event_.message(event::kAnnotation, part_);
  }

  void intern(uint32_t kind, uint64_t number, const char *text) {
    part_.clear();
    part_.number(interned::kNumber, number);
    part_.text(interned::kText, text);
    interned_.message(kind, part_);
  }

  // Writes `event_`, and the names that it is the first to use.
  bool write(int64_t time) {
    packet_.clear();
    packet_.number(packet::kTimestamp, static_cast<uint64_t>(time - last_));
    last_ = time;
    packet_.message(packet::kTrackEvent, event_);
    if (!interned_.empty()) packet_.message(packet::kInterned, interned_);
    return send(packet::kNeedsState);
  }

  bool send(uint64_t flags) {
    packet_.number(packet::kSequence, sequence_);
    if (flags != 0) packet_.number(packet::kFlags, flags);
    framed_.clear();
    framed_.message(1, packet_);
    output_.write(framed_.view());
    return output_.error() == 0;
  }

  void describe_process(int64_t l) {
    part_.clear();
    part_.number(track::kPid, static_cast<uint64_t>(names_.pids[l]));
    part_.text(track::kProcessName, names_.processes[l]);
    describe(kProcesses + static_cast<uint64_t>(trace_.ranks[l]), track::kProcess, 0);
  }

  void describe_thread(int64_t l) {
    part_.clear();
    part_.number(track::kPid, static_cast<uint64_t>(names_.pids[l]));
    part_.number(track::kTid, static_cast<uint64_t>(names_.tids[l]));
    part_.text(track::kThreadName, names_.threads[l]);
    describe(thread_, track::kThread, kProcesses + static_cast<uint64_t>(trace_.ranks[l]));
  }

  void describe(uint64_t number, uint32_t kind, uint64_t parent) {
    event_.clear();
    event_.number(track::kNumber, number);
    if (parent != 0) event_.number(track::kParent, parent);
    event_.message(kind, part_);
    packet_.clear();
    packet_.message(packet::kTrackDescriptor, event_);
    send(0);
  }

  // Times of our clock are those of the first packet, and then of what has passed since the one before.
  void describe_clock() {
    packet_.clear();
    event_.clear();
    for (const uint64_t number : {clocks::kBoot, clocks::kOurs}) {
      part_.clear();
      part_.number(clocks::kNumber, number);
      part_.number(clocks::kTime, 0);
      if (number == clocks::kOurs) part_.number(clocks::kIsIncremental, 1);
      event_.message(clocks::kClock, part_);
    }
    packet_.message(packet::kClockSnapshot, event_);
    send(packet::kCleared);
  }

  void describe_sequence() {
    interned_.clear();
    intern(interned::kCategory, kMpi, "MPI");
    intern(interned::kCategory, kRegion, "region");
    for (uint64_t word = kTo; word < kSaid; ++word) intern(interned::kAnnotation, word, kWords[word]);
    part_.clear();
    part_.number(defaults::kTrack, thread_);
    event_.clear();
    event_.number(defaults::kClock, clocks::kOurs);
    event_.message(defaults::kTrackEvent, part_);
    packet_.clear();
    packet_.message(packet::kDefaults, event_);
    packet_.message(packet::kInterned, interned_);
    send(packet::kCleared);
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
    haloscope::exporting::Writer writer(*trace, *names, file, aside);
    haloscope::exporting::Walk(*trace, writer).run();
    return writer.finish();
  } catch (const std::system_error &error) {
    return error.code().value();
  } catch (const std::exception &) {
    return ENOMEM;
  }
}
