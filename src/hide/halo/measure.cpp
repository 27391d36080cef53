#include "hide/halo/measure.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace haloscope::halo {

namespace {

constexpr int first_rounds = 3; // what happens for the first time takes longer

// Reads buffers as a stencil would; the compiler must not find out that the values are unused.
class Probe {
public:
  Probe(const Plan &plan, Exchange &exchange) : plan_(&plan), exchange_(&exchange) {}

  double operator()(int round) {
    check(MPI_Barrier(plan_->comm.get()));
    const double begin = MPI_Wtime();
    for (const Edge &edge : plan_->all.sends)
      std::memset(exchange_->send_buffer(edge.neighbour), round, edge.bytes);
    exchange_->start();
    exchange_->finish();
    for (const Edge &edge : plan_->all.receives) read(exchange_->receive_buffer(edge.neighbour), edge.bytes);
    exchange_->release();
    return MPI_Wtime() - begin;
  }

private:
  static void read(const std::byte *data, std::size_t bytes) {
    std::uint64_t sum = 0, word = 0;
    for (std::size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
      std::memcpy(&word, data + i, sizeof word);
      sum += word;
    }
    volatile std::uint64_t sink = sum;
    (void)sink;
  }

  const Plan *plan_;
  Exchange *exchange_;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Choice preset(const Plan &plan, haloscope_halo_method method) {
  const auto by = [&](Way way) {
    const std::vector<Way> known = ways(plan.comm.get(), plan.all);
    const bool exists = std::ranges::find(known, way) != known.end();
    return Choice{Within::messages, exists ? way : Way::persistent};
  };
  switch (method) {
  case HALOSCOPE_HALO_NONBLOCKING:
    return by(Way::nonblocking);
  case HALOSCOPE_HALO_PARTITIONED:
    return by(Way::partitioned);
  case HALOSCOPE_HALO_NEIGHBOURHOOD:
    return by(Way::neighbourhood);
  case HALOSCOPE_HALO_WINDOW:
    return {Within::window, Way::persistent};
  case HALOSCOPE_HALO_IN_PLACE:
    return {Within::in_place, Way::persistent};
  default:
    return {Within::messages, Way::persistent};
  }
}

} // namespace

std::vector<Choice> choices(const Plan &plan, haloscope_halo_method method) {
  if (method != HALOSCOPE_HALO_MEASURE) return {preset(plan, method)};
  const bool inside = !all_of(plan.comm.get(), !plan.inside.any());
  const bool outside = !all_of(plan.comm.get(), !plan.outside.any());
  std::vector<Choice> found;
  for (const Way way : ways(plan.comm.get(), plan.all)) found.push_back({Within::messages, way});
  if (!inside) return found;
  for (const Within within : {Within::window, Within::in_place})
    for (const Way way : ways(plan.comm.get(), plan.outside)) {
      found.push_back({within, way});
      if (!outside) break; // all are the same
    }
  return found;
}

std::vector<double> measure(Plan &plan, const std::vector<Choice> &choices,
                            const haloscope_halo_settings &settings) {
  std::size_t bytes = 0;
  for (const Choice &choice : choices) bytes = std::max(bytes, Exchange::needed(choice, plan));
  const Pages space{bytes};
  agree(plan.comm.get(), space.data() == nullptr && bytes > 0 ? "no memory for the buffers" : "");
  std::vector<Exchange> exchanges;
  exchanges.reserve(choices.size());
  for (const Choice &choice : choices) exchanges.emplace_back(choice, plan, space.data());
  std::vector<std::vector<double>> samples(choices.size());
  std::vector<double> mine(choices.size()), slowest(choices.size());
  double spent = 0;
  for (int round = 0; round < settings.rounds + first_rounds; round++) {
    for (std::size_t i = 0; i < choices.size(); i++) mine[i] = Probe{plan, exchanges[i]}(round);
    check(MPI_Allreduce(mine.data(), slowest.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX,
                        plan.comm.get()));
    spent += std::accumulate(slowest.begin(), slowest.end(), 0.0);
    if (round < first_rounds) continue;
    for (std::size_t i = 0; i < choices.size(); i++) samples[i].push_back(slowest[i]);
    if (round >= 2 * first_rounds - 1 && spent > settings.seconds) break;
  }
  std::vector<double> medians;
  medians.reserve(samples.size());
  for (auto &sample : samples) medians.push_back(median(std::move(sample)));
  return medians;
}

} // namespace haloscope::halo
