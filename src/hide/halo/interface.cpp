#include "hide/halo/halo.hpp"

#include <new>

namespace {

using haloscope::stencil::Failed;
using haloscope::stencil::Refused;

thread_local std::string halo_error; // NOLINT: a line a thread

int refuse(int code, std::string text) {
  halo_error = std::move(text);
  return code;
}

// No exception leaves the library.
template <class Function> int guarded(Function function) noexcept {
  try {
    return function();
  } catch (const Refused &refused) {
    return refuse(MPI_ERR_ARG, refused.what());
  } catch (const Failed &failed) {
    return refuse(failed.code, "halo: MPI failed with code " + std::to_string(failed.code));
  } catch (const std::bad_alloc &) {
    return refuse(MPI_ERR_NO_MEM, "halo: out of memory");
  }
}

template <class Sizes> bool is_one_of(int neighbour, const Sizes &sizes) {
  if (neighbour >= 0 && static_cast<std::size_t>(neighbour) < sizes.size()) return true;
  refuse(MPI_ERR_ARG,
         "halo: there is no neighbour " + std::to_string(neighbour) + " of " + std::to_string(sizes.size()));
  return false;
}

std::size_t size_of(int neighbour, const std::vector<std::size_t> &sizes) {
  return is_one_of(neighbour, sizes) ? sizes[static_cast<std::size_t>(neighbour)] : 0;
}

int ended(haloscope_halo &halo) {
  halo.started = false;
  halo.fresh = true;
  return MPI_SUCCESS;
}

} // namespace

extern "C" {

haloscope_halo_settings haloscope_halo_defaults() { return {HALOSCOPE_HALO_MEASURE, 30, 0.5, 0}; }

int haloscope_halo_create(MPI_Comm comm, const size_t *send_bytes, const size_t *receive_bytes,
                          const haloscope_halo_settings *settings, haloscope_halo **made) {
  *made = nullptr;
  if (comm == MPI_COMM_NULL) return refuse(MPI_ERR_ARG, "halo: the communicator is MPI_COMM_NULL");
  return guarded([&] {
    int inter = 0;
    haloscope::stencil::check(MPI_Comm_test_inter(comm, &inter));
    if (inter != 0) return refuse(MPI_ERR_ARG, "halo: the communicator is an intercommunicator");
    const haloscope_halo_settings own = settings == nullptr ? haloscope_halo_defaults() : *settings;
    *made = new haloscope_halo{comm, send_bytes, receive_bytes, own};
    return MPI_SUCCESS;
  });
}

void haloscope_halo_free(haloscope_halo *halo) { delete halo; }

const char *haloscope_halo_error() { return halo_error.c_str(); }

const char *haloscope_halo_description(const haloscope_halo *halo) { return halo->description.c_str(); }

int haloscope_halo_send_count(const haloscope_halo *halo) {
  return static_cast<int>(halo->send_bytes.size());
}

int haloscope_halo_receive_count(const haloscope_halo *halo) {
  return static_cast<int>(halo->receive_bytes.size());
}

size_t haloscope_halo_send_bytes(const haloscope_halo *halo, int neighbour) {
  return size_of(neighbour, halo->send_bytes);
}

size_t haloscope_halo_receive_bytes(const haloscope_halo *halo, int neighbour) {
  return size_of(neighbour, halo->receive_bytes);
}

void *haloscope_halo_send_buffer(haloscope_halo *halo, int neighbour) {
  if (!is_one_of(neighbour, halo->send_bytes) || halo->started) return nullptr;
  void *found = nullptr;
  guarded([&] {
    found = halo->exchange->send_buffer(neighbour);
    return MPI_SUCCESS;
  });
  return found;
}

const void *haloscope_halo_receive_buffer(haloscope_halo *halo, int neighbour) {
  if (!is_one_of(neighbour, halo->receive_bytes) || !halo->fresh) return nullptr;
  return halo->exchange->receive_buffer(neighbour);
}

int haloscope_halo_start(haloscope_halo *halo) {
  if (halo->started) return refuse(MPI_ERR_REQUEST, "halo: started again before it was finished");
  return guarded([&] {
    halo->fresh = false;
    halo->exchange->start();
    halo->started = true;
    return MPI_SUCCESS;
  });
}

int haloscope_halo_test(haloscope_halo *halo, int *there) {
  *there = 0;
  if (!halo->started) return refuse(MPI_ERR_REQUEST, "halo: tested before it was started");
  return guarded([&] {
    *there = halo->exchange->test() ? 1 : 0;
    return *there != 0 ? ended(*halo) : MPI_SUCCESS;
  });
}

int haloscope_halo_finish(haloscope_halo *halo) {
  if (!halo->started) return refuse(MPI_ERR_REQUEST, "halo: finished before it was started");
  return guarded([&] {
    halo->exchange->finish();
    return ended(*halo);
  });
}

int haloscope_halo_release(haloscope_halo *halo) {
  if (halo->started) return refuse(MPI_ERR_REQUEST, "halo: released before it was finished");
  halo->fresh = false;
  halo->exchange->release();
  return MPI_SUCCESS;
}
}
