// Writes OTF2 archives by OTF2's own library. Built where it is used, as few machines have the library.
//
// One archive at a time, from one thread: events of all locations first, then definitions. Functions return
// 0, or what else than 0 went wrong; haloscope_otf2_error says it in words.
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <otf2/otf2.h>

#include "explain/exporting/otf2_memory.hpp"
#include "explain/exporting/places.hpp"
#include "explain/exporting/walk.hpp"

namespace haloscope::exporting {
namespace {

char message[256];

// Sizes of the library's buffers, as its manual proposes.
constexpr uint64_t chunk_of_events = uint64_t{1} << 20U, chunk_of_definitions = 4 * chunk_of_events;

// Keeps the first error, the cause of the others. Of files that it cannot write OTF2 speaks here alone.
OTF2_ErrorCode keep(void *, const char *, uint64_t, const char *, OTF2_ErrorCode code, const char *,
                    va_list) {
  if (message[0] == '\0') {
    const char *why = OTF2_Error_GetDescription(code);
    const bool is_known = why != nullptr && why[0] != '\0';
    // Some codes are errno's. NOLINTNEXTLINE(concurrency-mt-unsafe): one thread exports
    std::snprintf(message, sizeof message, "%s", is_known ? why : std::strerror(errno));
  }
  return code;
}

class Otf2Writer {
public:
  Otf2Writer(const Columns &trace, OTF2_Archive *archive, const uint32_t *functions, const uint32_t *regions,
             uint64_t *events)
      : trace_(trace), places_(trace.members), archive_(archive), functions_(functions), regions_(regions),
        events_(events) {}

  bool begin_location(int64_t l) {
    location_ = static_cast<uint64_t>(l);
    writer_ = OTF2_Archive_GetEvtWriter(archive_, location_);
    return writer_ != nullptr;
  }

  bool end_location() {
    return good(OTF2_EvtWriter_GetNumberOfEvents(writer_, &events_[location_])) &&
           good(OTF2_Archive_CloseEvtWriter(archive_, writer_));
  }

  bool enter_region(int64_t time, int32_t path) {
    return good(OTF2_EvtWriter_Enter(writer_, nullptr, stamp(time), regions_[path]));
  }

  bool leave_region(int64_t time, int32_t path) {
    return good(OTF2_EvtWriter_Leave(writer_, nullptr, stamp(time), regions_[path]));
  }

  bool enter_call(int64_t time, int64_t call, const Work &started) {
    return good(OTF2_EvtWriter_Enter(writer_, nullptr, stamp(time), function(call))) &&
           std::ranges::all_of(started.receives, [&](int64_t row) { return post(stamp(time), row); }) &&
           std::ranges::all_of(started.sends, [&](int64_t row) { return send(stamp(time), row); }) &&
           std::ranges::all_of(started.collectives, [&](int64_t row) { return join(stamp(time), row); });
  }

  bool leave_call(int64_t time, int64_t call, const Work &completed) {
    return std::ranges::all_of(completed.receives, [&](int64_t row) { return receive(stamp(time), row); }) &&
           std::ranges::all_of(completed.sends, [&](int64_t row) { return sent(stamp(time), row); }) &&
           std::ranges::all_of(completed.collectives,
                               [&](int64_t row) { return joined(stamp(time), row); }) &&
           good(OTF2_EvtWriter_Leave(writer_, nullptr, stamp(time), function(call)));
  }

private:
  static bool good(OTF2_ErrorCode code) { return code == OTF2_SUCCESS; }
  static uint64_t stamp(int64_t time) { return static_cast<uint64_t>(time); }
  uint32_t function(int64_t call) const { return functions_[trace_.call_function(call)]; }

  static constexpr uint32_t nobody = UINT32_MAX;
  struct Fields {
    uint32_t partner, communicator, tag; // the partner's place in the communicator, or `nobody`
    uint64_t bytes;
  };
  Fields fields(const Messages &messages, int64_t row) const {
    const int32_t place = places_.of(messages.communicator[row], messages.partner[row]);
    return {place < 0 ? nobody : static_cast<uint32_t>(place),
            static_cast<uint32_t>(messages.communicator[row]), static_cast<uint32_t>(messages.tag[row]),
            static_cast<uint64_t>(messages.bytes[row])};
  }
  // A collective needs to know who takes part.
  int32_t operation_of(int64_t row) const {
    const Collectives &all = trace_.collectives;
    return places_.knows(all.communicator[row]) ? all.operation(row) : -1;
  }

  static bool is_blocking(const Ends &ends, int64_t row) { return ends.started[row] == ends.completed[row]; }
  // Numbers of requests are unique in the whole trace: a thread may complete a request that a different
  // thread of its rank started.
  static uint64_t request_of_send(int64_t row) { return static_cast<uint64_t>(row); }
  uint64_t request_of_receive(int64_t row) const {
    return static_cast<uint64_t>(trace_.sends.ends.count + row);
  }
  uint64_t request_of_collective(int64_t row) const {
    return request_of_receive(trace_.receives.ends.count) + static_cast<uint64_t>(row);
  }

  bool send(uint64_t time, int64_t row) {
    const auto [partner, communicator, tag, bytes] = fields(trace_.sends, row);
    if (partner == nobody) return true;
    return good(is_blocking(trace_.sends.ends, row)
                    ? OTF2_EvtWriter_MpiSend(writer_, nullptr, time, partner, communicator, tag, bytes)
                    : OTF2_EvtWriter_MpiIsend(writer_, nullptr, time, partner, communicator, tag, bytes,
                                              request_of_send(row)));
  }

  bool sent(uint64_t time, int64_t row) {
    return is_blocking(trace_.sends.ends, row) || fields(trace_.sends, row).partner == nobody ||
           good(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, time, request_of_send(row)));
  }

  bool post(uint64_t time, int64_t row) {
    return is_blocking(trace_.receives.ends, row) || fields(trace_.receives, row).partner == nobody ||
           good(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, time, request_of_receive(row)));
  }

  bool receive(uint64_t time, int64_t row) {
    const auto [partner, communicator, tag, bytes] = fields(trace_.receives, row);
    if (partner == nobody) return true;
    return good(is_blocking(trace_.receives.ends, row)
                    ? OTF2_EvtWriter_MpiRecv(writer_, nullptr, time, partner, communicator, tag, bytes)
                    : OTF2_EvtWriter_MpiIrecv(writer_, nullptr, time, partner, communicator, tag, bytes,
                                              request_of_receive(row)));
  }

  bool join(uint64_t time, int64_t row) {
    if (operation_of(row) < 0) return true;
    return good(is_blocking(trace_.collectives.ends, row)
                    ? OTF2_EvtWriter_MpiCollectiveBegin(writer_, nullptr, time)
                    : OTF2_EvtWriter_NonBlockingCollectiveRequest(writer_, nullptr, time,
                                                                  request_of_collective(row)));
  }

  bool joined(uint64_t time, int64_t row) {
    const Collectives &all = trace_.collectives;
    if (operation_of(row) < 0) return true;
    const auto operation = static_cast<OTF2_CollectiveOp>(operation_of(row));
    const auto communicator = static_cast<uint32_t>(all.communicator[row]);
    const int32_t place = places_.of(all.communicator[row], all.root[row]);
    const uint32_t root = place < 0 ? uint32_t{OTF2_COLLECTIVE_ROOT_NONE} : static_cast<uint32_t>(place);
    const auto out = static_cast<uint64_t>(all.bytes_sent[row]);
    const auto in = static_cast<uint64_t>(all.bytes_received[row]);
    return good(
        is_blocking(all.ends, row)
            ? OTF2_EvtWriter_MpiCollectiveEnd(writer_, nullptr, time, operation, communicator, root, out, in)
            : OTF2_EvtWriter_NonBlockingCollectiveComplete(writer_, nullptr, time, operation, communicator,
                                                           root, out, in, request_of_collective(row)));
  }

  const Columns &trace_;
  Places places_;
  OTF2_Archive *archive_;
  const uint32_t *functions_;
  const uint32_t *regions_;
  uint64_t *events_;
  uint64_t location_ = 0;
  OTF2_EvtWriter *writer_ = nullptr;
};

// OTF2 reads a file of local definitions for each location, though it may be empty.
bool write_local_definitions(OTF2_Archive *archive, int64_t locations) {
  bool well = OTF2_Archive_OpenDefFiles(archive) == OTF2_SUCCESS;
  for (int64_t l = 0; well && l < locations; ++l) {
    OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive, static_cast<uint64_t>(l));
    well = writer != nullptr && OTF2_Archive_CloseDefWriter(archive, writer) == OTF2_SUCCESS;
  }
  return well && OTF2_Archive_CloseDefFiles(archive) == OTF2_SUCCESS;
}

} // namespace
} // namespace haloscope::exporting

extern "C" {

const char *haloscope_otf2_error() { return haloscope::exporting::message; }

OTF2_Archive *haloscope_otf2_open(const char *directory, const char *creator) {
  namespace ours = haloscope::exporting;
  ours::message[0] = '\0';
  OTF2_Error_RegisterCallback(ours::keep, nullptr);
  static const OTF2_FlushCallbacks flushing = {ours::always, nullptr};
  static const OTF2_MemoryCallbacks memory = {ours::allocate, ours::release};
  OTF2_Archive *archive =
      OTF2_Archive_Open(directory, "traces", OTF2_FILEMODE_WRITE, ours::chunk_of_events,
                        ours::chunk_of_definitions, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive == nullptr) return nullptr;
  const bool well = OTF2_Archive_SetFlushCallbacks(archive, &flushing, nullptr) == OTF2_SUCCESS &&
                    OTF2_Archive_SetMemoryCallbacks(archive, &memory, nullptr) == OTF2_SUCCESS &&
                    OTF2_Archive_SetSerialCollectiveCallbacks(archive) == OTF2_SUCCESS &&
                    OTF2_Archive_SetCreator(archive, creator) == OTF2_SUCCESS;
  return well ? archive : nullptr;
}

int haloscope_otf2_events(OTF2_Archive *archive, const haloscope::exporting::Columns *trace,
                          const uint32_t *functions, const uint32_t *regions, uint64_t *events) {
  namespace ours = haloscope::exporting;
  ours::Otf2Writer writer(*trace, archive, functions, regions, events);
  if (OTF2_Archive_OpenEvtFiles(archive) != OTF2_SUCCESS || !ours::Walk(*trace, writer).run() ||
      OTF2_Archive_CloseEvtFiles(archive) != OTF2_SUCCESS) {
    return 1;
  }
  return ours::write_local_definitions(archive, trace->locations) ? 0 : 1;
}

OTF2_GlobalDefWriter *haloscope_otf2_definitions(OTF2_Archive *archive) {
  return OTF2_Archive_GetGlobalDefWriter(archive);
}

// OTF2's results do not report all file errors.
int haloscope_otf2_close(OTF2_Archive *archive) {
  const bool is_closed = OTF2_Archive_Close(archive) == OTF2_SUCCESS;
  return is_closed && haloscope::exporting::message[0] == '\0' ? 0 : 1;
}

int haloscope_otf2_clock(OTF2_GlobalDefWriter *writer, uint64_t length, uint64_t since_1970) {
  return OTF2_GlobalDefWriter_WriteClockProperties(writer, 1000000000, 0, length, since_1970);
}

int haloscope_otf2_paradigm(OTF2_GlobalDefWriter *writer, uint32_t name) {
  return OTF2_GlobalDefWriter_WriteParadigm(writer, OTF2_PARADIGM_MPI, name, OTF2_PARADIGM_CLASS_PROCESS);
}

int haloscope_otf2_string(OTF2_GlobalDefWriter *writer, uint32_t id, const char *text) {
  return OTF2_GlobalDefWriter_WriteString(writer, id, text);
}

int haloscope_otf2_node(OTF2_GlobalDefWriter *writer, uint32_t id, uint32_t name, uint32_t kind,
                        int64_t parent) {
  const uint32_t above = parent < 0 ? OTF2_UNDEFINED_SYSTEM_TREE_NODE : static_cast<uint32_t>(parent);
  return OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, id, name, kind, above);
}

int haloscope_otf2_process(OTF2_GlobalDefWriter *writer, uint32_t id, uint32_t name, uint32_t node) {
  return OTF2_GlobalDefWriter_WriteLocationGroup(writer, id, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                                                 OTF2_UNDEFINED_LOCATION_GROUP);
}

int haloscope_otf2_location(OTF2_GlobalDefWriter *writer, uint64_t id, uint32_t name, uint64_t events,
                            uint32_t process) {
  return OTF2_GlobalDefWriter_WriteLocation(writer, id, name, OTF2_LOCATION_TYPE_CPU_THREAD, events, process);
}

int haloscope_otf2_dropped(OTF2_GlobalDefWriter *writer, uint64_t location, uint32_t name, uint64_t events) {
  OTF2_AttributeValue value;
  value.uint64 = events;
  return OTF2_GlobalDefWriter_WriteLocationProperty(writer, location, name, OTF2_TYPE_UINT64, value);
}

int haloscope_otf2_region(OTF2_GlobalDefWriter *writer, uint32_t id, uint32_t name, uint32_t description,
                          int role, int is_mpi) {
  return OTF2_GlobalDefWriter_WriteRegion(
      writer, id, name, name, description, static_cast<OTF2_RegionRole>(role),
      is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0);
}

// The first group has the locations of all ranks, the others have ranks in it.
int haloscope_otf2_group(OTF2_GlobalDefWriter *writer, uint32_t id, uint32_t name, int is_first,
                         uint32_t count, const uint64_t *members) {
  return OTF2_GlobalDefWriter_WriteGroup(
      writer, id, name, is_first ? OTF2_GROUP_TYPE_COMM_LOCATIONS : OTF2_GROUP_TYPE_COMM_GROUP,
      OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count, members);
}

int haloscope_otf2_communicator(OTF2_GlobalDefWriter *writer, uint32_t id, uint32_t name, uint32_t group) {
  return OTF2_GlobalDefWriter_WriteComm(writer, id, name, group, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
}
}
