// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using llvm::StringRef;

namespace hewn {

/// Returns the number of bytes of the UTF-8 character at the start of `text`, or 0 if that is a
/// control character or not valid UTF-8. `text` must not be empty.
static unsigned printableBytes(StringRef text) {
  auto lead = uint8_t(text[0]);
  if (lead < 0x80)
    return lead >= 0x20 && lead != 0x7f;
  unsigned size = llvm::getNumBytesForUTF8(lead);
  const auto *bytes = reinterpret_cast<const llvm::UTF8 *>(text.data());
  if (size > text.size() || !llvm::isLegalUTF8Sequence(bytes, bytes + size))
    return 0;
  // U+0080 to U+009F are control characters too, which must not be printed.
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
    // If the misspelled name `given` is the start of a flag's name, the flag counts as similar,
    // however many characters are missing.
    if (given.size() > 1 && name.starts_with(given))
      own = 1;
    // a short name such as "-o" is not similar if all of its characters would have to be replaced
    if (own >= name.size())
      continue;
    if (own < distance || (own == distance && best.empty())) {
      best = name;
      distance = own;
    }
  }
  return best;
}

} // namespace hewn
