// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Custom/Patterns.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hewn::graph {

ArrayAttr patternAttr(MLIRContext *context, const CustomDefinition::DimList &list) {
  SmallVector<Attribute> all;
  if (list.anyBefore)
    all.push_back(StringAttr::get(context, kAnyDims));
  for (const DimExpr &dim : list.dims)
    all.push_back(dim.toAttr(context));
  return ArrayAttr::get(context, all);
}

std::optional<CustomDefinition::DimList> parsePattern(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  if (!list)
    return std::nullopt;
  CustomDefinition::DimList pattern;
  for (auto [i, attr] : llvm::enumerate(list)) {
    if (auto text = dyn_cast<StringAttr>(attr); i == 0 && text && text.getValue() == kAnyDims) {
      pattern.anyBefore = true;
      continue;
    }
    std::optional<DimExpr> dim = DimExpr::fromAttr(attr);
    if (!dim)
      return std::nullopt;
    pattern.dims.push_back(*dim);
  }
  return pattern;
}

std::string textOf(const CustomDefinition::DimList &list) {
  SmallVector<StringRef> words;
  if (list.anyBefore)
    words.push_back(kAnyDims);
  for (const DimExpr &dim : list.dims)
    words.push_back(dim.str());
  return "[" + llvm::join(words, ", ") + "]";
}

std::optional<StringRef> plainName(const DimExpr &dim) {
  ArrayRef<DimExpr::Term> terms = dim.terms();
  bool isOne = terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1;
  return isOne && !terms[0].factors[0]->name.empty() ? std::optional<StringRef>(terms[0].factors[0]->name)
                                                     : std::nullopt;
}

bool dividesByZero(const DimExpr &dim) {
  return llvm::any_of(dim.terms(), [](const DimExpr::Term &term) {
    return llvm::any_of(term.factors, [](const DimExpr::AtomRef &atom) {
      bool divides = atom->op == DimExpr::Op::FloorDiv || atom->op == DimExpr::Op::Mod;
      return atom->name.empty() &&
             ((divides && atom->rhs.is(0)) || dividesByZero(atom->lhs) || dividesByZero(atom->rhs));
    });
  });
}

bool DimNames::match(const CustomDefinition::DimList &pattern, ArrayRef<DimExpr> dims) {
  if (dims.size() < pattern.dims.size() || (!pattern.anyBefore && dims.size() > pattern.dims.size()))
    return false;
  if (pattern.anyBefore) {
    ArrayRef<DimExpr> leading = dims.drop_back(pattern.dims.size());
    if (before && before->size() != leading.size())
      return false;
    for (auto [known, dim] : llvm::zip(before.value_or(Dims(leading)), leading))
      equal.push_back({known, dim});
    before = before ? before : Dims(leading);
  }
  for (auto [wanted, dim] : llvm::zip(pattern.dims, dims.take_back(pattern.dims.size())))
    if (std::optional<StringRef> name = plainName(wanted); !name || !names.try_emplace(*name, dim).second)
      written.push_back({wanted, dim});
  return true;
}

std::optional<SmallVector<std::pair<DimExpr, DimExpr>>> DimNames::pairs() {
  SmallVector<std::pair<DimExpr, DimExpr>> all(equal);
  for (const auto &[pattern, dim] : written) {
    std::optional<DimExpr> value = evaluate(pattern);
    if (!value)
      return std::nullopt;
    all.push_back({*value, dim});
  }
  return all;
}

std::optional<DimExpr> DimNames::evaluate(const DimExpr &dim) {
  bool known = true;
  DimExpr value = dim.substitute([&](StringRef name) {
    auto found = names.find(name);
    if (found != names.end())
      return found->second;
    known = false;
    unknown = name.str();
    return DimExpr(1);
  });
  return known ? std::optional<DimExpr>(value) : std::nullopt;
}

std::optional<Dims> DimNames::evaluate(const CustomDefinition::DimList &pattern) {
  Dims dims;
  if (pattern.anyBefore && !before) {
    unknown = kAnyDims;
    return std::nullopt;
  }
  if (pattern.anyBefore)
    dims = *before;
  for (const DimExpr &dim : pattern.dims) {
    std::optional<DimExpr> value = evaluate(dim);
    if (!value)
      return std::nullopt;
    dims.push_back(*value);
  }
  return dims;
}

} // namespace hewn::graph
