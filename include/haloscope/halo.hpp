// halo.h for C++: the object frees itself, buffers are spans.
#pragma once

#include <haloscope/halo.h>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace haloscope {

class Halo {
public:
  using Settings = haloscope_halo_settings;

  static Settings defaults() { return haloscope_halo_defaults(); }

  // Collective; throws on all ranks if anything is wrong on one. Sizes are in bytes, one a neighbour.
  Halo(MPI_Comm comm, std::span<const std::size_t> send_bytes, std::span<const std::size_t> receive_bytes,
       const Settings &settings = defaults()) {
    haloscope_halo *made = nullptr;
    if (haloscope_halo_create(comm, send_bytes.data(), receive_bytes.data(), &settings, &made) != MPI_SUCCESS)
      throw std::invalid_argument(haloscope_halo_error());
    halo_.reset(made);
  }

  // Of the next exchange; waits until the neighbour has released what it got two exchanges ago.
  template <class T> std::span<T> send(int neighbour) {
    auto *data = static_cast<T *>(haloscope_halo_send_buffer(halo_.get(), neighbour));
    return {data, data == nullptr ? 0 : haloscope_halo_send_bytes(halo_.get(), neighbour) / sizeof(T)};
  }
  // Of the last exchange, until it is released or the next one starts.
  template <class T> std::span<const T> received(int neighbour) const {
    const auto *data = static_cast<const T *>(haloscope_halo_receive_buffer(halo_.get(), neighbour));
    return {data, data == nullptr ? 0 : haloscope_halo_receive_bytes(halo_.get(), neighbour) / sizeof(T)};
  }

  void start() { check(haloscope_halo_start(halo_.get())); }
  bool test() {
    int there = 0;
    check(haloscope_halo_test(halo_.get(), &there));
    return there != 0;
  }
  void finish() { check(haloscope_halo_finish(halo_.get())); }
  void release() { check(haloscope_halo_release(halo_.get())); }

  [[nodiscard]] std::string description() const { return haloscope_halo_description(halo_.get()); }

private:
  struct Free {
    void operator()(haloscope_halo *halo) const { haloscope_halo_free(halo); }
  };

  static void check(int result) {
    if (result != MPI_SUCCESS) throw std::runtime_error(haloscope_halo_error());
  }

  std::unique_ptr<haloscope_halo, Free> halo_;
};

} // namespace haloscope
