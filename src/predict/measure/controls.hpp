// The library's control variables (MPI_T): how a program that runs asks for another algorithm.
#pragma once

#include <mpi.h>

#include <map>
#include <string>

namespace measure {

using Settings = std::map<std::string, int>;

#ifdef SMPI_H // It has no such variables.
class Controls {
public:
  bool write(const Settings &wanted) { return wanted.empty(); }
};
#else
class Controls {
public:
  Controls() {
    int provided = 0;
    there_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
  }
  Controls(const Controls &) = delete;
  Controls &operator=(const Controls &) = delete;
  ~Controls() {
    write({}); // MPI_Finalize has collectives of its own
    for (auto &[name, variable] : written_) MPI_T_cvar_handle_free(&variable.handle);
    if (there_) MPI_T_finalize();
  }

  // Give these variables these values, and the value that it had at first to each that was written before.
  // Return false if the library does not take one.
  bool write(const Settings &wanted) {
    for (const auto &[name, value] : wanted)
      if (!written_.contains(name) && !find(name)) return false;
    for (const auto &[name, variable] : written_) {
      const auto asked = wanted.find(name);
      int value = asked == wanted.end() ? variable.first : asked->second;
      if (MPI_T_cvar_write(variable.handle, &value) != MPI_SUCCESS) return false;
    }
    return true;
  }

private:
  struct Variable {
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int first = 0;
  };

  bool find(const std::string &name) {
    int index = 0;
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    int none = 0;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    Variable found;
    if (!there_ || MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return false;
    if (MPI_T_cvar_get_info(index, nullptr, &none, &verbosity, &type, nullptr, nullptr, &none, &bind,
                            &scope) != MPI_SUCCESS ||
        (type != MPI_INT && type != MPI_UNSIGNED))
      return false;
    if (MPI_T_cvar_handle_alloc(index, nullptr, &found.handle, &count) != MPI_SUCCESS || count != 1)
      return false;
    if (MPI_T_cvar_read(found.handle, &found.first) != MPI_SUCCESS) return false;
    written_[name] = found;
    return true;
  }

  bool there_ = false;
  std::map<std::string, Variable> written_;
};
#endif

} // namespace measure
