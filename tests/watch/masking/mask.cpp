/* Masks each text of standard input, which ends with a zero byte, in the same form, in the user's locale. */
#include "watch/counting/masking.hpp"

#include <clocale>
#include <iostream>

int main() {
  std::setlocale(LC_ALL, ""); // NOLINT(concurrency-mt-unsafe): one thread
  for (std::string text; std::getline(std::cin, text, '\0');)
    std::cout << haloscope::watch::mask_secrets(text) << '\0';
}
