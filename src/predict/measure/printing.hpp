// What the program of collectives prints: a JSON line for its start and for each point.
#pragma once

#include "predict/measure/quoted.hpp"
#include "predict/measure/side_channel.hpp"

#include <mpi.h>
#include <sched.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace measure {

struct Point {
  std::vector<std::vector<long long>> samples; // of each rank, on rank 0
  long long invalid = 0;
  int error = MPI_SUCCESS;
  bool wrong = false;
  double window = 0;
};

inline long long nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

inline std::string join_texts(const std::vector<std::string> &texts) {
  std::string out = "[";
  for (const auto &text : texts) out += (out.size() > 1 ? "," : "") + quote(text);
  out += ']';
  return out;
}

// The cores that this process may run on: how it is bound.
inline std::string cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (!CPU_ISSET(core, &set) || (core > 0 && CPU_ISSET(core - 1, &set))) continue;
    int last = core;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) last++;
    out += (out.empty() ? "" : ",") + std::to_string(core);
    if (last > core) out += "-" + std::to_string(last);
  }
  return out;
}

inline void print_start(const World &world) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_processor_name(name, &length);
  MPI_Get_library_version(version, &length);
  const auto hosts = texts(world, name);
  const auto bound = texts(world, cores());
  if (!world.root()) return;
  const std::set<std::string> nodes(hosts.begin(), hosts.end());
  std::printf("{\"record\":\"start\",\"ranks\":%d,\"nodes\":%zu,\"library\":%s,\"tick\":%.3g,"
              "\"hosts\":%s,\"binding\":%s}\n",
              world.size, nodes.size(), quote(version).c_str(), MPI_Wtick(),
              join_texts({nodes.begin(), nodes.end()}).c_str(), join_texts(bound).c_str());
  std::fflush(stdout);
}

inline void print_samples(const Point &point) {
  std::printf(",\"samples_ns\":[");
  for (size_t rank = 0; rank < point.samples.size(); rank++) {
    std::printf(rank > 0 ? ",[" : "[");
    for (size_t i = 0; i < point.samples[rank].size(); i++)
      std::printf(i > 0 ? ",%lld" : "%lld", point.samples[rank][i]);
    std::printf("]");
  }
  std::printf("]");
}

inline void print_point(const Point &point, long long bytes, double clock_error) {
  std::string status = "ok";
  std::string reason;
  if (point.error != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(point.error, text, &length);
    status = "unsupported";
    reason = std::string("the library refuses: ") + text;
  } else if (point.wrong) {
    status = "failed";
    reason = "wrong data";
  } else if (point.samples.empty() || point.samples[0].empty()) {
    status = "failed";
    reason = "no iteration began in time on all ranks";
  }
  std::printf("{\"record\":\"point\",\"bytes\":%lld,\"status\":\"%s\",\"reason\":%s,"
              "\"invalid\":%lld,\"window_ns\":%lld,\"clock_error_ns\":%lld",
              bytes, status.c_str(), quote(reason).c_str(), point.invalid, nanoseconds(point.window),
              nanoseconds(clock_error));
  if (status == "ok") print_samples(point);
  std::printf("}\n");
  std::fflush(stdout);
}

} // namespace measure
