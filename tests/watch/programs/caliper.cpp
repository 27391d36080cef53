// Caliper's and Adiak's markers, in C and in C++: each region is one case of a test.
#define OMPI_SKIP_MPICXX 1 // its C++ interface, long gone from the standard, is full of warnings
#include "common.h"

#include <adiak.hpp>
#include <caliper/cali-manager.h>
#include <caliper/cali-mpi.h>
#include <caliper/cali.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

// `count` messages to the next rank, of one int.
void exchange(int count) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < count; i++)
    MPI_Sendrecv(buffer, 1, MPI_INT, to, 0, other, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void marked_function() {
  CALI_CXX_MARK_FUNCTION;
  exchange(1);
}

int with_returns(int which) {
  CALI_CXX_MARK_SCOPE("scope");
  if (which == 0) return 0;
  CALI_CXX_MARK_SCOPE("inner");
  exchange(1);
  return 1;
}

void plain_function() {
  CALI_MARK_FUNCTION_BEGIN;
  exchange(2);
  CALI_MARK_FUNCTION_END;
}

void loops() {
  CALI_CXX_MARK_LOOP_BEGIN(outer, "loop");
  for (int i = 0; i < 3; i++) {
    CALI_CXX_MARK_LOOP_ITERATION(outer, i);
    CALI_MARK_BEGIN("body");
    exchange(1);
    CALI_MARK_END("body");
  }
  CALI_CXX_MARK_LOOP_END(outer);
  CALI_MARK_LOOP_BEGIN(second, "c loop");
  for (int i = 0; i < 4; i++) {
    CALI_MARK_ITERATION_BEGIN(second, i);
    exchange(i);
    CALI_MARK_ITERATION_END(second);
  }
  CALI_MARK_LOOP_END(second);
  try {
    cali::Loop thrown("thrown");
    throw std::runtime_error("out of the loop");
  } catch (const std::runtime_error &thrown) {
    CHECK(thrown.what() != nullptr);
  }
}

void attributes() {
  cali::Annotation phase("phase of mine", CALI_ATTR_SCOPE_PROCESS | CALI_ATTR_NESTED);
  {
    cali::Annotation::Guard guard(phase.begin("guarded"));
    exchange(1);
  }
  cali_begin_byname("by name");
  exchange(1);
  cali_end_byname("by name");
  cali_begin_string_byname("kind", "text of kind");
  exchange(1);
  cali_end_byname("kind");
  cali_begin_int_byname("number", 7);
  exchange(1);
  cali_end_byname("number");
  const cali_id_t value = cali_create_attribute("a value", CALI_TYPE_DOUBLE, CALI_ATTR_ASVALUE);
  CHECK(value == cali_find_attribute("a value"));
  CHECK(cali_find_attribute("nothing") == CALI_INV_ID);
  cali_set_double(value, 1.5);
  cali_begin_double(value, 2.5);
  cali_end(value);
  cali_begin_int(CALI_INV_ID, 1); // which does nothing
  cali_end(CALI_INV_ID);
  cali::Annotation("a set").set(3);
  CALI_WRAP_STATEMENT("statement", exchange(1));
  CHECK(strcmp(cali_attribute_name(value), "a value") == 0);
  CHECK(cali_attribute_type(value) == CALI_TYPE_DOUBLE);
}

void mistakes() {
  CALI_MARK_BEGIN("left open");
  CALI_MARK_BEGIN("inside");
  CALI_MARK_END("left open");
  CALI_MARK_END("never begun");
  CALI_MARK_BEGIN("after");
  exchange(1);
  CALI_MARK_END("after");
}

void values() {
  cali_set_global_int_byname("iterations", 12);
  cali_set_global_double_byname("tolerance", 1e-3);
  cali_set_global_string_byname("mesh", "a=b, c");
  cali_set_global_uint_byname("zones", 5000000000U);
  adiak::value("name", std::string("Übergröße"));
  adiak::value("flag", true);
  adiak::value("sizes", std::vector<int>{1, 2, 3});
  adiak::value("pair", std::make_tuple(1, 2.5, "x"));
  adiak::value("when", adiak::date(1700000000));
  adiak::value("built", adiak::version("gcc@8.1.0"));
  adiak::value("from", 1.0, 10.0);
  const double grid[] = {4.5, 1.25};
  const struct {
    int number;
    const char *letter;
  } letters[] = {{1, "a"}, {2, "b"}};
  CHECK(adiak_namevalue("grid", adiak_general, nullptr, "{%f}", grid, 2) == 0);
  CHECK(adiak_namevalue("alphabet", adiak_general, nullptr, "[(%d, %s)]", letters, 2, 2) == 0);
  CHECK(adiak_namevalue("big", adiak_general, nullptr, "%lld", 9876543210LL) == 0);
  CHECK(adiak_namevalue("wrong", adiak_general, nullptr, "%q", 1) != 0);
}

// More regions than there is memory for: they are lost, and all others are recorded.
void many_names(int count) {
  for (int i = 0; i < count; i++) {
    const std::string name = "pass number " + std::to_string(i);
    CALI_MARK_BEGIN(name.c_str());
    {
      CALI_CXX_MARK_SCOPE("inside");
      exchange(1);
    }
    CALI_MARK_BEGIN("left open");
    CALI_MARK_END(name.c_str());
  }
  CALI_CXX_MARK_SCOPE("halo");
  exchange(1);
}

} // namespace

int main(int argc, char **argv) {
  CALI_CXX_MARK_FUNCTION; // which ends after MPI_Finalize
  CALI_MARK_BEGIN("before MPI");
  CALI_MARK_BEGIN("gone before MPI");
  CALI_MARK_END("gone before MPI");
  start(&argc, &argv);
  cali_mpi_init();
  adiak::init(nullptr);
  adiak::launchdate();
  adiak::cmdline();
  exchange(1);

  cali::ConfigManager manager;
  manager.set_default_parameter("comm.stats", "true");
  manager.add(argc > 1 ? argv[1] : "");
  CHECK(!manager.error());
  CHECK(manager.check("spot(output=x,profile.mpi),level=2").empty());
  manager.start(); // after the first BEGIN

  CALI_MARK_COMM_REGION_BEGIN("halo");
  exchange(3);
  CALI_MARK_COMM_REGION_END("halo");
  CALI_MARK_COMM_REGION_BEGIN("halo");
  MPI_Barrier(MPI_COMM_WORLD);
  exchange(1);
  CALI_MARK_COMM_REGION_END("halo");
  CALI_MARK_PHASE_BEGIN("phase");
  exchange(1);
  CALI_MARK_PHASE_END("phase");
  marked_function();
  with_returns(0);
  with_returns(1);
  plain_function();
  loops();
  attributes();
  mistakes();
  values();
  if (argc > 3) many_names(atoi(argv[3])); // NOLINT(bugprone-unchecked-string-to-number-conversion)
  const bool watched = argc > 2;
  CHECK(strcmp(cali_get_current_region_or("none"), watched ? "before MPI" : "none") == 0);
  CALI_MARK_END("before MPI");
  CHECK(strcmp(cali_get_current_region_or("none"), watched ? "main" : "none") == 0);
  manager.flush();
  adiak::fini();
  MPI_Finalize();
  CALI_MARK_BEGIN("after MPI");
  CALI_MARK_END("after MPI");
  return 0;
}
