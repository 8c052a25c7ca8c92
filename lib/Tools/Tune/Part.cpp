// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Tune/Part.h"

namespace hewn::tool {

std::string SearchPart::text() const { return std::to_string(number) + "/" + std::to_string(count); }

std::optional<SearchPart> SearchPart::parse(llvm::StringRef text) {
  SearchPart part;
  auto [number, count] = text.split('/');
  if (number.getAsInteger(10, part.number) || count.getAsInteger(10, part.count) || part.number < 1 ||
      part.number > part.count)
    return std::nullopt;
  return part;
}

} // namespace hewn::tool
