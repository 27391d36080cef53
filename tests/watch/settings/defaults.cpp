// What the recorder takes where the environment says nothing: variable, tab, value, a line each.
#include "watch/annotations/interfaces.hpp"
#include "watch/collecting/settings.hpp"
#include "watch/counting/metadata.hpp"

#include <iostream>

// Nothing is recorded here.
void haloscope::watch::add_metadata(const char *, const char *) noexcept {}

namespace {

bool wants_all() {
  using namespace haloscope::watch;
  for (unsigned i = 0; i < interface_names.size(); i++)
    if (!is_wanted(static_cast<Interface>(i))) return false;
  return true;
}

} // namespace

int main() {
  using namespace haloscope::watch;
  Settings settings = read_settings(true, 2);
  settings.ranks = settings.records(0) && settings.records(1) ? "all" : "some";
  settings.annotations = wants_all() ? "all" : "some";
  read_each(settings, [](const auto &value, const auto &setting) {
    std::cout << setting.variable << '\t';
    if constexpr (requires { setting.factor; })
      std::cout << value / setting.factor << '\n';
    else
      std::cout << value << '\n';
  });
}
