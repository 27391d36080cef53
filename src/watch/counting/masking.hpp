// Secrets in command lines and variables are masked before they come into any record, live ones included.
//
// Masked is, as `***`: what follows a name that says password, passwd, passphrase, secret, token, API, access
// or private key, or credential, after `=` or `:` to the end of the word (`--token=x`, `TOKEN=x`, `?token=x`,
// `"password": "x"`), or as the next word, if it begins with no dash (`--password x`); what stands between
// `:` and `@` (`user:x@host`, `https://user:x@host`); and the word after Bearer or Basic. Quoted command
// lines are looked through as well.
//
// So something harmless may be masked (`--token-file f`), and what no name gives away is not (`-p x`, `--key
// x`, a secret as a bare word).
#pragma once

#include <string>
#include <string_view>

namespace haloscope::watch {

// A command line, or any other text.
std::string masked(std::string_view text);
// The value of a variable.
std::string masked(std::string_view name, std::string_view value);

// A word as a shell reads it back.
std::string quoted_word(std::string_view word);

} // namespace haloscope::watch
