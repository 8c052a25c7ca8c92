// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Precision.h"

#include "llvm/ADT/STLExtras.h"

namespace hewn {

llvm::ArrayRef<std::pair<Precision, llvm::StringRef>> precisions() {
  static constexpr std::pair<Precision, llvm::StringRef> all[] = {
      {Precision::Highest, "highest"}, {Precision::High, "high"}, {Precision::Medium, "medium"}};
  return all;
}

llvm::StringRef nameOf(Precision precision) {
  return llvm::find_if(precisions(), [&](const auto &one) { return one.first == precision; })->second;
}

std::optional<Precision> parsePrecision(llvm::StringRef text) {
  for (const auto &[precision, name] : precisions())
    if (name == text)
      return precision;
  return std::nullopt;
}

} // namespace hewn
