/* Masks each text of standard input, which end with a zero byte, in the same form. */
#include "watch/counting/masking.hpp"

#include <iostream>

int main() {
  for (std::string text; std::getline(std::cin, text, '\0');)
    std::cout << haloscope::watch::mask_secrets(text) << '\0';
}
