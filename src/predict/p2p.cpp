// Messages between pairs of ranks: latency, bandwidth, overheads. `haloscope bench p2p` starts it and reads
// the lines of JSON that rank 0 prints. One pair after the other; ranks that have no turn sleep.
#include "predict/measure/command_line.hpp"
#include "predict/pairs/side.hpp"

#include <memory>
#include <sstream>
#include <utility>

namespace {

using namespace pairs;

struct Work {
  std::vector<std::pair<int, int>> all_pairs;
  std::vector<std::string> tests;
  std::vector<long long> sizes;
  long long threshold = 0; // from so many bytes on `large` holds
  Method small, large;
  Element element;
  bool check = false;

  [[nodiscard]] const Method &method(long long bytes) const { return bytes < threshold ? small : large; }
};

std::vector<std::string> words(const std::string &text, char mark) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, mark);) all.push_back(word);
  return all;
}

Work work_of(const measure::Options &options) {
  Work work;
  for (const auto &pair : words(options.text("pairs", "0-1"), ',')) {
    const auto ends = words(pair, '-');
    work.all_pairs.emplace_back(std::stoi(ends.at(0)), std::stoi(ends.at(1)));
  }
  work.tests = words(options.text("tests", "latency"), ',');
  work.sizes = options.integers("sizes");
  work.threshold = options.integer("threshold", 1LL << 62);
  work.small.iterations = options.integer("iterations", 1000);
  work.small.warmup = options.integer("warmup", 100);
  work.small.window = static_cast<int>(options.integer("window", 64));
  work.small.clock = clock_cost();
  work.large = work.small;
  work.large.iterations = options.integer("large-iterations", work.small.iterations);
  work.large.warmup = options.integer("large-warmup", work.small.warmup);
  work.element = Element::of(options.text("type", "mpi_char"));
  work.check = options.integer("check", 0) != 0;
  return work;
}

void write(std::ostringstream &line, const char *key, const Samples &samples) {
  line << ",\"" << key << "\":[";
  for (size_t i = 0; i < samples.size(); i++) line << (i ? "," : "") << samples[i] * 1e9;
  line << "]";
}

// One test of one size on one side. The leader's text is the result.
std::string point(Side &side, const std::string &test, long long bytes, const Work &work) {
  const Method &method = work.method(bytes);
  side.resize(bytes);
  const bool right = !work.check || side.check(bytes);
  Samples samples;
  Samples receives;
  if (test == "latency") samples = side.latency(method);
  if (test == "bw") samples = side.bandwidth(method);
  if (test == "bibw") samples = side.both_ways(method);
  if (test == "reduce") samples = side.reduce(method);
  if (test == "overhead") side.overheads(method, samples, receives);
  std::ostringstream line;
  line.precision(7);
  line << ",\"bytes\":" << bytes << ",\"batch\":" << side.batch() << ",\"clock_ns\":" << method.clock * 1e9
       << ",\"valid\":" << (work.check ? (right ? "true" : "false") : "null");
  write(line, "samples_ns", samples);
  if (test == "overhead") write(line, "receive_ns", receives);
  return line.str();
}

// The leader's line comes out of rank 0, so that lines of several ranks cannot run into each other.
void deliver(int rank, int leader, const std::string &text) {
  if (leader == 0 && rank == 0) print(text);
  if (leader == 0) return;
  if (rank == leader)
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, tag + 1, MPI_COMM_WORLD);
  if (rank != 0) return;
  int there = 0;
  MPI_Status status;
  while (MPI_Iprobe(leader, tag + 1, MPI_COMM_WORLD, &there, &status), there == 0) doze();
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string line(static_cast<size_t>(size), ' ');
  MPI_Recv(line.data(), size, MPI_CHAR, leader, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  print(line);
}

std::string begun(const std::string &record, const std::string &test, const std::pair<int, int> &pair) {
  return R"({"record":")" + record + R"(","test":")" + test + R"(","pair":[)" + std::to_string(pair.first) +
         "," + std::to_string(pair.second) + "]";
}

void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  wait_quietly(request);
}

void measure_pair(int rank, const std::pair<int, int> &pair, const std::string &test, const Work &work,
                  char *out, char *in) {
  const bool leads = rank == pair.first;
  const bool takes_part = leads || rank == pair.second;
  Side side(leads ? pair.second : pair.first, leads, work.element, out, in);
  for (const long long bytes : work.sizes) {
    if (takes_part || rank == 0) {
      const std::string text = takes_part ? point(side, test, bytes, work) : "";
      deliver(rank, pair.first, begun("point", test, pair) + text + "}");
    }
  }
}

// All pairs at once: a window takes as long as that of the slowest pair.
void measure_together(int rank, const Work &work, char *out, char *in) {
  for (const long long bytes : work.sizes) {
    const Method &method = work.method(bytes);
    Samples mine(static_cast<size_t>(method.iterations), 0);
    for (const auto &pair : work.all_pairs) {
      if (rank != pair.first && rank != pair.second) continue;
      Side side(rank == pair.first ? pair.second : pair.first, rank == pair.first, work.element, out, in);
      side.resize(bytes);
      const Samples windows = side.windows(method);
      if (side.leads()) mine = windows;
    }
    Samples slowest(mine.size());
    MPI_Reduce(mine.data(), slowest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
               MPI_COMM_WORLD);
    std::ostringstream line;
    line.precision(7);
    line << begun("point", "mbw_mr", work.all_pairs[0]) << ",\"bytes\":" << bytes
         << R"(,"batch":1,"valid":null)";
    write(line, "samples_ns", slowest);
    if (rank == 0) print(line.str() + "}");
  }
}

void measure_all(int rank, const Work &work, char *out, char *in) {
  for (const auto &test : work.tests) {
    if (test == "mbw_mr") {
      wait_for_all();
      measure_together(rank, work, out, in);
      continue;
    }
    for (const auto &pair : work.all_pairs) {
      measure_pair(rank, pair, test, work, out, in);
      if (work.all_pairs.size() > 1) wait_for_all();
    }
  }
}

std::string obstacle(const Work &work, int ranks, const char *out, const char *in) {
  for (const auto &[first, second] : work.all_pairs)
    if (first == second || std::min(first, second) < 0 || std::max(first, second) >= ranks)
      return "there is no pair of ranks " + std::to_string(first) + " and " + std::to_string(second) +
             " of " + std::to_string(ranks) + ": the launcher started too few, or each alone";
  if (!out || !in) return "no memory for buffers of that size";
  return "";
}

} // namespace

int main(int count, char **arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const measure::Options options(count, arguments);
  const int local = local_rank();
  const auto cpus = options.integers("cpus");
  const auto place = static_cast<size_t>(options.text("by", "world") == "node" ? local : rank);
  const long long cpu = place < cpus.size() ? cpus[place] : -1;
  std::string error = bind_to(cpu);
  const Work work = work_of(options);
  const auto largest = std::ranges::max_element(work.sizes);
  const auto bytes = static_cast<size_t>(largest == work.sizes.end() ? 0 : *largest);
  const Buffer out(bytes);
  const Buffer in(bytes);
  if (error.empty()) error = obstacle(work, ranks, out.get(), in.get());
  if (roll_call(rank, ranks, describe_rank(rank, local, cpu, error), error.empty()))
    measure_all(rank, work, out.get(), in.get());
  MPI_Finalize();
  return 0;
}
