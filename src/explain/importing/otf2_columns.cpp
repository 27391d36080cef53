// otf2-columns ARCHIVE.otf2 EVENTS MESSAGES: converts an OTF2 archive for Python.
//
// Definitions go to standard output, one JSON object per line. Names are the bytes in the archive. Events go
// to EVENTS, in the order of the "location" lines, packed: time (8 bytes), type (1), and the region or the
// number of the record in MESSAGES (4). Damaged parts of the archive are left out, and reported in a line
// "damage".
#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <otf2/otf2.h>
#include <vector>

#include "explain/importing/event_files.hpp"

namespace {

using namespace haloscope::importing;

Output &output(void *data) { return *static_cast<Output *>(data); }

struct Definitions {
  std::vector<OTF2_LocationRef> locations;
};

void write_quoted(const char *text) {
  std::putchar('"');
  for (const char *at = text; *at; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '"' || byte == '\\') std::putchar('\\');
    if (byte < 0x20)
      std::printf("\\u%04x", byte);
    else
      std::putchar(byte);
  }
  std::putchar('"');
}

void damage(const char *where, uint64_t number, OTF2_ErrorCode code) {
  std::printf("{\"damage\": \"%s\", \"id\": %" PRIu64 ", \"why\": ", where, number);
  write_quoted(OTF2_Error_GetDescription(code));
  std::puts("}");
}

// Error codes are checked. The messages that the library would print are for its developers.
OTF2_ErrorCode quiet(void *, const char *, uint64_t, const char *, OTF2_ErrorCode code, const char *,
                     va_list) {
  return code;
}

OTF2_CallbackCode on_clock(void *, uint64_t resolution, uint64_t offset, uint64_t length,
                           uint64_t real_time) {
  std::printf("{\"clock\": %" PRIu64 ", \"offset\": %" PRIu64 ", \"length\": %" PRIu64 ", \"start\": %" PRIu64
              "}\n",
              resolution, offset, length, real_time);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_string(void *, OTF2_StringRef self, const char *text) {
  std::printf(R"({"string": %u, "text": )", self);
  write_quoted(text);
  std::puts("}");
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_node(void *, OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef kind,
                          OTF2_SystemTreeNodeRef parent) {
  std::printf("{\"node\": %u, \"name\": %u, \"class\": %u, \"parent\": %u}\n", self, name, kind, parent);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_process(void *, OTF2_LocationGroupRef self, OTF2_StringRef name,
                             OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
                             OTF2_LocationGroupRef) {
  std::printf("{\"process\": %u, \"name\": %u, \"type\": %u, \"node\": %u}\n", self, name, unsigned{type},
              parent);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_location(void *data, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
                              uint64_t, OTF2_LocationGroupRef process) {
  static_cast<Definitions *>(data)->locations.push_back(self);
  std::printf("{\"thread\": %" PRIu64 ", \"name\": %u, \"type\": %u, \"process\": %u}\n", self, name,
              unsigned{type}, process);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_region(void *, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef, OTF2_StringRef,
                            OTF2_RegionRole role, OTF2_Paradigm paradigm, OTF2_RegionFlag,
                            OTF2_StringRef file, uint32_t line, uint32_t) {
  std::printf("{\"region\": %u, \"name\": %u, \"role\": %u, \"paradigm\": %u, \"file\": %u, \"line\": %u}\n",
              self, name, unsigned{role}, unsigned{paradigm}, file, line);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_group(void *, OTF2_GroupRef self, OTF2_StringRef, OTF2_GroupType type,
                           OTF2_Paradigm paradigm, OTF2_GroupFlag, uint32_t count, const uint64_t *members) {
  std::printf(R"({"group": %u, "type": %u, "paradigm": %u, "members": [)", self, unsigned{type},
              unsigned{paradigm});
  for (uint32_t i = 0; i < count; ++i) std::printf("%s%" PRIu64, i ? ", " : "", members[i]);
  std::puts("]}");
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_communicator(void *, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                  OTF2_CommRef, OTF2_CommFlag) {
  std::printf("{\"communicator\": %u, \"name\": %u, \"group\": %u}\n", self, name, group);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_bridge(void *, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef first,
                            OTF2_GroupRef second, OTF2_CommRef, OTF2_CommFlag) {
  std::printf("{\"communicator\": %u, \"name\": %u, \"group\": %u, \"remote\": %u}\n", self, name, first,
              second);
  return OTF2_CALLBACK_SUCCESS;
}

// The first arguments of every event's callback.
#define HALOSCOPE_EVENT OTF2_LocationRef, OTF2_TimeStamp time, uint64_t, void *data, OTF2_AttributeList *

template <Kind KIND> OTF2_CallbackCode on_region_event(HALOSCOPE_EVENT, OTF2_RegionRef region) {
  output(data).event(KIND, time, region);
  return OTF2_CALLBACK_SUCCESS;
}

template <Kind KIND>
OTF2_CallbackCode on_blocking(HALOSCOPE_EVENT, uint32_t partner, OTF2_CommRef communicator, uint32_t tag,
                              uint64_t bytes) {
  output(data).message(KIND, time, partner, communicator, tag, bytes, 0);
  return OTF2_CALLBACK_SUCCESS;
}

template <Kind KIND>
OTF2_CallbackCode on_nonblocking(HALOSCOPE_EVENT, uint32_t partner, OTF2_CommRef communicator, uint32_t tag,
                                 uint64_t bytes, uint64_t request) {
  output(data).message(KIND, time, partner, communicator, tag, bytes, request);
  return OTF2_CALLBACK_SUCCESS;
}

template <Kind KIND> OTF2_CallbackCode on_request(HALOSCOPE_EVENT, uint64_t request) {
  output(data).message(KIND, time, no_number, no_number, no_number, 0, request);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_begin_collective(HALOSCOPE_EVENT) {
  output(data).event(Kind::begin_collective, time, no_number);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_end_collective(HALOSCOPE_EVENT, OTF2_CollectiveOp operation, OTF2_CommRef communicator,
                                    uint32_t root, uint64_t sent, uint64_t received) {
  output(data).message(Kind::end_collective, time, root, communicator, operation, sent, 0, received);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_collective(HALOSCOPE_EVENT, OTF2_CollectiveOp operation, OTF2_CommRef communicator,
                                uint32_t root, uint64_t sent, uint64_t received, uint64_t request) {
  output(data).message(Kind::collective, time, root, communicator, operation, sent, request, received);
  return OTF2_CALLBACK_SUCCESS;
}

struct Closing {
  void operator()(OTF2_Reader *reader) const { OTF2_Reader_Close(reader); }
};
using Reader = std::unique_ptr<OTF2_Reader, Closing>;

void read_definitions(OTF2_Reader *reader, Definitions &found) {
  using Callbacks =
      std::unique_ptr<OTF2_GlobalDefReaderCallbacks, decltype(&OTF2_GlobalDefReaderCallbacks_Delete)>;
  const Callbacks callbacks{OTF2_GlobalDefReaderCallbacks_New(), OTF2_GlobalDefReaderCallbacks_Delete};
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(callbacks.get(), on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(callbacks.get(), on_string);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(callbacks.get(), on_node);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(callbacks.get(), on_process);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks.get(), on_location);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(callbacks.get(), on_region);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(callbacks.get(), on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(callbacks.get(), on_communicator);
  OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(callbacks.get(), on_bridge);
  OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
  if (!global) {
    damage("definitions", 0, OTF2_ERROR_FILE_INTERACTION);
    return;
  }
  OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, callbacks.get(), &found);
  uint64_t count = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &count);
  if (code != OTF2_SUCCESS) damage("definitions", count, code);
}

// Local definitions have the numbers by which a location's events name global ones, and its clock's offsets.
void read_local_definitions(OTF2_Reader *reader, const Definitions &found) {
  const bool is_there = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
  for (const OTF2_LocationRef location : found.locations) {
    OTF2_DefReader *local = is_there ? OTF2_Reader_GetDefReader(reader, location) : nullptr;
    if (!local) continue; // archives need not have any
    uint64_t count = 0;
    const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalDefinitions(reader, local, &count);
    if (code != OTF2_SUCCESS) damage("mapping", location, code);
    OTF2_Reader_CloseDefReader(reader, local);
  }
  if (is_there) OTF2_Reader_CloseDefFiles(reader);
}

void set_event_callbacks(OTF2_EvtReaderCallbacks *callbacks) {
  OTF2_EvtReaderCallbacks_SetEnterCallback(callbacks, on_region_event<Kind::enter>);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(callbacks, on_region_event<Kind::leave>);
  OTF2_EvtReaderCallbacks_SetMpiSendCallback(callbacks, on_blocking<Kind::send>);
  OTF2_EvtReaderCallbacks_SetMpiIsendCallback(callbacks, on_nonblocking<Kind::post_send>);
  OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(callbacks, on_request<Kind::sent>);
  OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(callbacks, on_request<Kind::post_receive>);
  OTF2_EvtReaderCallbacks_SetMpiRecvCallback(callbacks, on_blocking<Kind::receive>);
  OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(callbacks, on_nonblocking<Kind::received>);
  OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(callbacks, on_request<Kind::cancelled>);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(callbacks, on_begin_collective);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(callbacks, on_end_collective);
  OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(callbacks,
                                                                  on_request<Kind::post_collective>);
  OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(callbacks, on_collective);
}

void read_events(OTF2_Reader *reader, const Definitions &found, Output &to) {
  using Callbacks = std::unique_ptr<OTF2_EvtReaderCallbacks, decltype(&OTF2_EvtReaderCallbacks_Delete)>;
  const Callbacks callbacks{OTF2_EvtReaderCallbacks_New(), OTF2_EvtReaderCallbacks_Delete};
  set_event_callbacks(callbacks.get());
  const bool is_there = OTF2_Reader_OpenEvtFiles(reader) == OTF2_SUCCESS;
  for (const OTF2_LocationRef location : found.locations) {
    OTF2_EvtReader *events = is_there ? OTF2_Reader_GetEvtReader(reader, location) : nullptr;
    const uint64_t before = to.event_count;
    if (events) {
      OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks.get(), &to);
      uint64_t count = 0;
      const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalEvents(reader, events, &count);
      if (code != OTF2_SUCCESS) damage("location", location, code);
      OTF2_Reader_CloseEvtReader(reader, events);
    } else {
      damage("location", location, OTF2_ERROR_FILE_INTERACTION);
    }
    std::printf("{\"location\": %" PRIu64 ", \"events\": %" PRIu64 "}\n", location, to.event_count - before);
  }
  if (is_there) OTF2_Reader_CloseEvtFiles(reader);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  OTF2_Error_RegisterCallback(quiet, nullptr);
  const Reader reader{OTF2_Reader_Open(argv[1])};
  if (!reader) {
    damage("archive", 0, OTF2_ERROR_FILE_CAN_NOT_OPEN);
    return 1;
  }
  OTF2_Reader_SetSerialCollectiveCallbacks(reader.get());
  Definitions found;
  read_definitions(reader.get(), found);
  for (const OTF2_LocationRef location : found.locations) OTF2_Reader_SelectLocation(reader.get(), location);
  read_local_definitions(reader.get(), found);
  const auto to = std::make_unique<Output>(argv[2], argv[3]);
  read_events(reader.get(), found, *to);
  const bool events_are_whole = to->events.flush();
  if (to->messages.flush() && events_are_whole) return 0;
  std::fputs("the disk is full\n", stderr);
  return 1;
}
