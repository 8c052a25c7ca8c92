// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Limits.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;
using llvm::Twine;

namespace hewn {

namespace {
struct Entry {
  StringRef name;
  int64_t Limits::*value;
  int64_t most;
};
constexpr int64_t kAny = int64_t(1) << 62;
/// The limit `nesting` protects the stack, because the importer recurses into the bodies of
/// functions, branches and loops.
const Entry entries[] = {{"nodes", &Limits::nodes, kAny},
                         {"nesting", &Limits::nesting, 200},
                         {"bytes", &Limits::bytes, kAny},
                         {"folding", &Limits::folding, kAny}};
} // namespace

std::string limitText(StringRef name, int64_t value) {
  return ("the limit of " + Twine(value) + " (--limit " + name + "=NUMBER raises it)").str();
}

bool parseLimit(StringRef text, Limits &limits, Diagnostics &diagnostics) {
  auto [name, value] = text.split('=');
  const auto *entry = llvm::find_if(entries, [name = name.trim()](const Entry &e) { return e.name == name; });
  if (entry == std::end(entries)) {
    auto names = llvm::map_range(entries, [](const Entry &e) { return e.name; });
    diagnostics.error("'" + text + "' is not a valid limit: --limit takes NAME=NUMBER, where NAME is one of: " +
                      llvm::join(names, ", "));
    return false;
  }
  int64_t number;
  if (value.trim().getAsInteger(10, number) || number < 0 || number > entry->most) {
    diagnostics.error("'" + text + "' is not a valid limit: '" + entry->name + "' must be 0 to " + Twine(entry->most));
    return false;
  }
  limits.*entry->value = number;
  return true;
}

} // namespace hewn
