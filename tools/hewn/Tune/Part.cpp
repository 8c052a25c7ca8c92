// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Tune/Part.h"

#include "llvm/Support/raw_ostream.h"

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

bool PartParser::parse(llvm::cl::Option &, llvm::StringRef name, llvm::StringRef text, std::string &value) {
  if (SearchPart::parse(text)) {
    value = text.str();
    return false;
  }
  llvm::errs() << "error: --" << name << " expects a part from 1/N to N/N, got '" << text << "'\n";
  return true;
}

} // namespace hewn::tool
