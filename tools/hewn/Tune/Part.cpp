// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Tune/Part.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>
#include <tuple>

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
  llvm::errs() << "error: --" << name << " wants a part and how many there are, from 1/N to N/N, not '" << text
               << "'\n";
  return true;
}

std::vector<int> dealKinds(llvm::ArrayRef<double> work, int parts) {
  std::vector<int> dealt(work.size());
  if (work.empty())
    return dealt;
  struct Hand {
    double work = 0;
    size_t kinds = 0;
  };
  std::vector<Hand> hands(std::min(size_t(parts), work.size())); // those of more have none
  const size_t most = llvm::divideCeil(work.size(), hands.size());
  std::vector<size_t> order(work.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::stable_sort(order, [&](size_t a, size_t b) { return work[a] > work[b]; });
  for (size_t kind : order) {
    auto rank = [&](const Hand &hand) { return std::tuple(hand.kinds == most, hand.work, hand.kinds); };
    auto least = std::min_element(hands.begin(), hands.end(),
                                  [&](const Hand &a, const Hand &b) { return rank(a) < rank(b); });
    least->work += work[kind];
    ++least->kinds;
    dealt[kind] = int(least - hands.begin()) + 1;
  }
  return dealt;
}

} // namespace hewn::tool
