#include "predict/simulate/delays.hpp"

#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <sstream>

namespace haloscope::simulate {

namespace {

std::string variable(const char *name) {
  const char *text = std::getenv(name); // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? "" : text;
}

std::vector<double> numbers(const char *name) {
  std::istringstream words{variable(name)};
  std::vector<double> result;
  for (double value = 0; words >> value;) result.push_back(value);
  return result;
}

double now() { return simgrid::s4u::Engine::get_clock(); }

} // namespace

Delays::Delays()
    : plan_(latencies::parse(variable("HALOSCOPE_INJECT"))), factors_(numbers("HALOSCOPE_COMPUTE_FACTORS")) {
  if (const auto speed = numbers("HALOSCOPE_CORE_SPEED"); !speed.empty()) core_speed_ = speed.front();
}

void Delays::enter(int rank) {
  const auto place = static_cast<std::size_t>(rank);
  if (place >= ranks_.size()) ranks_.resize(place + 1);
  Rank &own = ranks_[place];
  own.host = simgrid::s4u::this_actor::get_host();
  if (first_host_ == nullptr) first_host_ = own.host;
  spans_hosts_ = spans_hosts_ || own.host != first_host_;
  for (std::uint64_t link = 0; link < 2; link++)
    own.sources.emplace_back(plan_.links[link], plan_.seed, static_cast<std::uint64_t>(rank), link);
}

double Delays::draw(int rank, latencies::Link link) {
  Rank &own = ranks_[static_cast<std::size_t>(rank)];
  const auto number = static_cast<std::size_t>(link);
  own.sources[number].advance(own.drawn[number]++);
  return own.sources[number].draw();
}

void Delays::depart(int from, int to, int tag) {
  if (from == to) return;
  const auto host = [this](int rank) { return ranks_[static_cast<std::size_t>(rank)].host; };
  const auto link = host(from) == host(to) ? latencies::Link::intra : latencies::Link::inter;
  arrivals_[{from, to, tag}].push_back(now() + draw(from, link));
}

double Delays::arrival(int from, int to, int tag) {
  const auto found = arrivals_.find({from, to, tag});
  if (found == arrivals_.end() || found->second.empty()) return 0;
  const double time = found->second.front();
  found->second.pop_front();
  return time;
}

double Delays::collective_end(int rank) {
  return now() + draw(rank, spans_hosts_ ? latencies::Link::inter : latencies::Link::intra);
}

void Delays::compute(int rank, double flops) const {
  if (!factors_.empty()) flops *= factors_[static_cast<std::size_t>(rank) % factors_.size()];
  if (!(flops > 0)) return;
  const auto computing = simgrid::s4u::this_actor::exec_init(flops);
  if (core_speed_ > 0) computing->set_bound(core_speed_);
  computing->wait();
}

} // namespace haloscope::simulate
