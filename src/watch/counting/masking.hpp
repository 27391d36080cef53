// Secrets in command lines and variables are masked before they reach any record, including live records.
// These texts become `***`:
//
// * The text after a name that contains password, passwd, passphrase, secret, token, API, access or private
//   key, or credential: after `=` or `:` to the end of the word (`--token=x`, `TOKEN=x`, `?token=x`,
//   `"password": "x"`), or the next word, if it begins with no dash (`--password x`).
// * The text between `:` and `@` (`user:x@host`, `https://user:x@host`).
// * The word after Bearer or Basic.
//
// Quoted command lines are searched, too. A harmless word may be masked (`--token-file f`). A secret
// that no name announces is not masked (`-p x`, `--key x`, a bare word).
#pragma once

#include <string>
#include <string_view>

namespace haloscope::watch {

// A command line, or any other text.
std::string mask_secrets(std::string_view text);
// The value of a variable.
std::string mask_secrets(std::string_view name, std::string_view value);

// A word as a shell reads it back.
std::string quoted_word(std::string_view word);

} // namespace haloscope::watch
