// halo.h for C++: the object frees itself, and buffers are spans. Rules for threads are in halo.h.
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

  // Creates a halo. Collective.
  //
  // @param send_bytes, receive_bytes  one size per neighbour of the topology of `comm`, in bytes.
  // @throws std::invalid_argument on all ranks if an argument is wrong on one.
  Halo(MPI_Comm comm, std::span<const std::size_t> send_bytes, std::span<const std::size_t> receive_bytes,
       const Settings &settings = defaults()) {
    haloscope_halo *made = nullptr;
    if (haloscope_halo_create(comm, send_bytes.data(), receive_bytes.data(), &settings, &made) != MPI_SUCCESS)
      throw std::invalid_argument(haloscope_halo_error());
    halo_.reset(made);
  }

  // The buffer to fill before the next exchange. May wait for the neighbour: haloscope_halo_send_buffer.
  //
  // @return an empty span during an exchange, and if there is nothing to send.
  template <class T> std::span<T> send(int neighbour) {
    auto *data = static_cast<T *>(haloscope_halo_send_buffer(halo_.get(), neighbour));
    return {data, data == nullptr ? 0 : haloscope_halo_send_bytes(halo_.get(), neighbour) / sizeof(T)};
  }
  // The data of the last exchange, until it is released or the next exchange starts.
  //
  // @return an empty span at any other time, and if there is nothing to receive.
  template <class T> std::span<const T> received(int neighbour) const {
    const auto *data = static_cast<const T *>(haloscope_halo_receive_buffer(halo_.get(), neighbour));
    return {data, data == nullptr ? 0 : haloscope_halo_receive_bytes(halo_.get(), neighbour) / sizeof(T)};
  }

  // One exchange: start, then finish, or test until it returns true.
  //
  // @throws std::runtime_error for calls in a wrong order, and for errors of MPI.
  void start() { check(haloscope_halo_start(halo_.get())); }
  bool test() {
    int there = 0;
    check(haloscope_halo_test(halo_.get(), &there));
    return there != 0;
  }
  void finish() { check(haloscope_halo_finish(halo_.get())); }
  // Lets neighbours fill these buffers before the next exchange starts here.
  void release() { check(haloscope_halo_release(halo_.get())); }

  // @return one line with the chosen method and the measured times.
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
