// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using llvm::StringRef;

namespace hewn {

/// How many bytes of `text`, which is not empty, are one character that may be printed; 0: the first byte is none.
static unsigned printableBytes(StringRef text) {
  auto lead = uint8_t(text[0]);
  if (lead < 0x80)
    return lead >= 0x20 && lead != 0x7f;
  unsigned size = llvm::getNumBytesForUTF8(lead);
  const auto *bytes = reinterpret_cast<const llvm::UTF8 *>(text.data());
  if (size > text.size() || !llvm::isLegalUTF8Sequence(bytes, bytes + size))
    return 0;
  // U+0080 to U+009F are control characters too.
  return lead == 0xc2 && uint8_t(text[1]) < 0xa0 ? 0 : size;
}

std::string printable(StringRef text) {
  std::string safe;
  while (!text.empty()) {
    unsigned size = printableBytes(text);
    if (text[0] == '\n' || text[0] == '\t')
      safe += ' ';
    else if (size)
      safe += text.take_front(size);
    else
      safe += "\\x" + llvm::toHex(text.take_front(1), /*LowerCase=*/true);
    text = text.drop_front(std::max(size, 1u));
  }
  return safe;
}

StringRef nearestName(StringRef given, llvm::ArrayRef<StringRef> names) {
  StringRef best;
  unsigned distance = 1 + unsigned(given.size()) / 3;
  for (StringRef name : names) {
    unsigned own = given.edit_distance(name, /*AllowReplacements=*/true, distance);
    // A flag that was cut short is near, however much is missing.
    if (given.size() > 1 && name.starts_with(given))
      own = 1;
    if (own >= name.size()) // nothing of the name is left: "-o" is near to nothing
      continue;
    if (own < distance || (own == distance && best.empty())) {
      best = name;
      distance = own;
    }
  }
  return best;
}

} // namespace hewn
