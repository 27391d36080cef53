// names PATH SINCE TEXT: writes TEXT as a profile of that name, says which it got.
// program EXECUTABLE WORD...: says what a person calls that.
#include "watch/collecting/naming.hpp"
#include "watch/collecting/program.hpp"
#include "watch/records/schema.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

using namespace haloscope::watch;

namespace {

int write_one(const std::string &path, const char *since, const std::string &text) {
  const NewFile file = create_beside(path);
  const std::string content = std::string{magic.begin(), magic.end()} + text;
  if (write(file.descriptor, content.data(), content.size()) < 0) return 1;
  std::puts(give_name(file.path, path, std::strtoull(since, nullptr, 10)).c_str());
  return 0;
}

} // namespace

int main(int argc, char **argv) try {
  const std::vector<std::string> words{argv + 2, argv + argc};
  if (std::string_view{argv[1]} == "names") return write_one(words[0], words[1].c_str(), words[2]);
  std::puts(program_name(words[0], {words.begin() + 1, words.end()}).c_str());
  return 0;
} catch (const std::exception &error) {
  std::puts(error.what());
  return 1;
}
