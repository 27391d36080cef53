// Puts the event graph of a run into an order in which it can be played.
#include "explain/tape.hpp"
#include "explain/public.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace haloscope::explain {
namespace {

// The calls of location l are first_call[l] to first_call[l + 1]. When a call begins, its location's time is
// put into hubs; when it ends, it may have waited for hubs. Both lists are sorted by call.
struct Events {
  const std::int64_t *first_call;
  const std::int64_t *gap;   // before each call, computing
  const std::int64_t *own;   // of each call, waiting for nobody
  const std::int64_t *tail;  // of each location, after its last call
  const std::int64_t *begin; // of each call: which one goes on first where all wait for each other
  const std::int64_t *put_call;
  const std::int32_t *put_hub;
  std::int64_t puts;
  const std::int64_t *get_call;
  const std::int32_t *get_hub;
  const std::int64_t *get_weight, *get_units;
  const std::int32_t *get_group;
  std::int64_t gets;
  std::int32_t locations, hubs;
};

constexpr std::int32_t no_rank = -1;

class Writing {
public:
  Writing(const Events &events, Tape &tape)
      : events_(events), tape_(tape), hubs_(count(events.hubs)), places_(count(events.locations)) {
    for (std::int64_t i = 0; i < events.puts; i++) hubs_[count(events.put_hub[i])].awaited++;
    for (std::int64_t i = 0; i < events.gets; i++) hubs_[count(events.get_hub[i])].readers++;
    for (std::int32_t l = 0; l < events.locations; l++) {
      Place &place = places_[count(l)];
      place.call = events.first_call[l];
      place.put =
          std::lower_bound(events.put_call, events.put_call + events.puts, place.call) - events.put_call;
      place.get =
          std::lower_bound(events.get_call, events.get_call + events.gets, place.call) - events.get_call;
      ready_.push_back(events.locations - 1 - l);
    }
  }

  // Returns how many waits were left out as they wait for themselves.
  std::int64_t run() {
    std::int64_t left_out = 0;
    std::int32_t ended = 0;
    while (ended < events_.locations) {
      if (ready_.empty()) {
        release();
        left_out++;
      }
      const std::int32_t location = ready_.back();
      ready_.pop_back();
      if (play(location)) ended++;
    }
    tape_.slots = next_slot_;
    return left_out;
  }

private:
  struct Hub {
    std::int32_t awaited = 0, readers = 0; // puts and gets that are still to come
    std::int32_t slot = 0;                 // 0: none yet
    std::int32_t parked = no_rank;         // the first of the locations that wait here
  };
  struct Place {
    std::int64_t call = 0, put = 0, get = 0, advance = 0;
    std::int32_t next = no_rank; // parked at the same hub
    bool begun = false;          // in the call
    bool waits = false;
  };

  static std::size_t count(std::int64_t value) noexcept { return static_cast<std::size_t>(value); }

  // Returns true when the location has come to its end.
  bool play(std::int32_t location) {
    Place &place = places_[count(location)];
    for (; place.call < events_.first_call[location + 1]; place.call++) {
      if (!place.begun) {
        place.begun = true;
        place.advance += events_.gap[place.call];
        for (; place.put < events_.puts && events_.put_call[place.put] == place.call; place.put++)
          put(location, events_.put_hub[place.put]);
        place.advance += events_.own[place.call];
      }
      for (; place.get < events_.gets && events_.get_call[place.get] == place.call; place.get++) {
        const std::int32_t hub = events_.get_hub[place.get];
        if (hubs_[count(hub)].awaited > 0) {
          place.waits = true;
          place.next = hubs_[count(hub)].parked;
          hubs_[count(hub)].parked = location;
          return false;
        }
        get(location, place.get);
      }
      place.begun = false;
    }
    place.advance += events_.tail[location];
    write(location, 0, ended_ ? Step::put : Step::first_put, 0, 0, 0);
    ended_ = true;
    return true;
  }

  void put(std::int32_t location, std::int32_t hub) {
    std::int32_t &slot = hubs_[count(hub)].slot;
    const bool is_first = slot == 0;
    if (is_first) slot = free_slot();
    write(location, slot, is_first ? Step::first_put : Step::put, 0, 0, 0);
    if (--hubs_[count(hub)].awaited > 0) return;
    for (std::int32_t waiting = hubs_[count(hub)].parked; waiting != no_rank;) {
      Place &place = places_[count(waiting)];
      const std::int32_t next = place.next;
      place.waits = false;
      ready_.push_back(waiting);
      waiting = next;
    }
    hubs_[count(hub)].parked = no_rank;
  }

  void get(std::int32_t location, std::int64_t i) {
    const std::int32_t hub = events_.get_hub[i], slot = hubs_[count(hub)].slot;
    if (slot != 0)
      write(location, slot, Step::get, events_.get_weight[i], events_.get_units[i], events_.get_group[i]);
    if (--hubs_[count(hub)].readers == 0 && slot != 0) free_.push_back(slot);
  }

  // All wait for each other, which clocks that differ can do: the one that came first waits no longer.
  void release() {
    std::int32_t first = no_rank;
    for (std::int32_t l = 0; l < events_.locations; l++)
      if (places_[count(l)].waits && (first == no_rank || events_.begin[places_[count(l)].call] <
                                                              events_.begin[places_[count(first)].call]))
        first = l;
    Place &place = places_[count(first)];
    const std::int32_t hub = events_.get_hub[place.get];
    std::int32_t *link = &hubs_[count(hub)].parked;
    while (*link != first) link = &places_[count(*link)].next;
    *link = place.next;
    hubs_[count(hub)].readers--;
    place.get++;
    place.waits = false;
    ready_.push_back(first);
  }

  std::int32_t free_slot() {
    if (free_.empty()) return next_slot_++;
    const std::int32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }

  void write(std::int32_t location, std::int32_t slot, Step step, std::int64_t weight, std::int64_t units,
             std::int32_t group) noexcept {
    const std::int64_t i = tape_.steps++;
    tape_.location[i] = location;
    tape_.slot[i] = slot;
    tape_.step[i] = static_cast<std::uint8_t>(step);
    tape_.advance[i] = places_[count(location)].advance;
    tape_.weight[i] = weight;
    tape_.units[i] = units;
    tape_.group[i] = group;
    places_[count(location)].advance = 0;
  }

  const Events &events_;
  Tape &tape_;
  std::vector<Hub> hubs_;
  std::vector<Place> places_;
  std::vector<std::int32_t> ready_, free_;
  std::int32_t next_slot_ = 1;
  bool ended_ = false;
};

} // namespace

// Fills a tape that has room for all puts, gets and locations. Returns how many waits were left out because
// nothing could go on otherwise, or -1 if there is not enough memory.
HALOSCOPE_PUBLIC std::int64_t haloscope_tape(const Events *events, Tape *tape) {
  try {
    tape->steps = 0;
    tape->locations = events->locations;
    return Writing(*events, *tape).run();
  } catch (const std::bad_alloc &) {
    return -1;
  }
}

} // namespace haloscope::explain
