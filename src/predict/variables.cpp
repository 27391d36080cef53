// Prints what the MPI library says about itself, one JSON string a field: its version, its file,
// and its control variables (MPI_T) with their descriptions. One process, without MPI_Init.
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::string quote(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned char>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

void print(const char *record, const std::string &name, const std::string &text) {
  std::printf("{\"record\":\"%s\",\"name\":%s,\"text\":%s}\n", record, quote(name).c_str(),
              quote(text).c_str());
}

// The files that the process has mapped: the library among them is the one really in use.
void print_libraries() {
  std::ifstream maps("/proc/self/maps");
  std::string last;
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find('/');
    const std::string path = at == std::string::npos ? "" : line.substr(at);
    const std::string name = path.substr(path.rfind('/') + 1);
    if (path != last && name.starts_with("libmpi")) print("file", name, path);
    last = path;
  }
}

void print_variables() {
  int provided = 0;
  int count = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return;
  MPI_T_cvar_get_num(&count);
  std::vector<char> name(1 << 12);
  std::vector<char> text(1 << 16);
  for (int i = 0; i < count; i++) {
    int name_length = static_cast<int>(name.size());
    int text_length = static_cast<int>(text.size());
    int verbosity = 0;
    int bind = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (MPI_T_cvar_get_info(i, name.data(), &name_length, &verbosity, &type, nullptr, text.data(),
                            &text_length, &bind, &scope) == MPI_SUCCESS)
      print("variable", name.data(), text.data());
  }
  MPI_T_finalize();
}

} // namespace

int main() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  print("version", "library", version);
  print_libraries();
  print_variables();
  return 0;
}
