// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Arena/Samples.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::plan {

namespace {

struct Symbol {
  StringRef name;
  int64_t low = 1, high = INT64_MAX;
};

std::vector<Symbol> symbolsOf(FunctionOpInterface program) {
  std::vector<Symbol> symbols;
  auto ranges = program->getAttrOfType<DictionaryAttr>(graph::kDimRangesAttr);
  for (BlockArgument argument : program.getArguments())
    for (const graph::DimExpr &dim : graph::getDims(argument))
      dim.walkSymbols([&](StringRef name) {
        // Store the symbol name in the context, so that it outlives the attribute from which it is
        // read.
        auto kept = StringAttr::get(program->getContext(), name);
        if (llvm::any_of(symbols, [&](const Symbol &s) { return s.name == name; }))
          return;
        symbols.push_back({kept.getValue()});
        auto range = ranges ? dyn_cast_or_null<DenseI64ArrayAttr>(ranges.get(kept)) : DenseI64ArrayAttr();
        if (range && range.size() == 2) {
          symbols.back().low = std::max<int64_t>(range[0], 1);
          symbols.back().high = std::max(range[1], symbols.back().low);
        }
      });
  return symbols;
}

} // namespace

std::vector<Sample> samplesOf(FunctionOpInterface program) {
  constexpr int64_t sizes[] = {1, 7, 32, 128, 512};
  std::vector<Symbol> symbols = symbolsOf(program);
  std::vector<Sample> samples;
  auto add = [&](llvm::function_ref<int64_t(size_t)> size) {
    Sample sample;
    for (auto [i, symbol] : llvm::enumerate(symbols))
      sample[symbol.name] = std::clamp(size(i), symbol.low, symbol.high);
    if (llvm::none_of(samples, [&](const Sample &other) { return llvm::equal(other, sample); }))
      samples.push_back(std::move(sample));
  };
  // First create samples in which all symbols have one value, then samples in which the value of
  // one symbol differs from that of all others.
  for (int64_t size : sizes)
    add([&](size_t) { return size; });
  for (size_t one = 0; one < std::min<size_t>(symbols.size(), 4); ++one)
    for (int64_t own : sizes)
      for (int64_t others : {1, 32, 512})
        add([&](size_t i) { return i == one ? own : others; });
  return samples;
}

int64_t evaluate(const graph::DimExpr &expr, const Sample &sample) {
  return graph::evaluate(expr, [&](StringRef name) { return sample.lookup(name); });
}

double boundOf(const graph::DimExpr &expr, const Sample &sample) {
  double sum = 0;
  for (const graph::DimExpr::Term &term : expr.terms()) {
    double product = std::abs(double(term.coefficient));
    for (const graph::DimExpr::AtomRef &factor : term.factors)
      product *= factor->name.empty() ? std::max({1.0, boundOf(factor->lhs, sample), boundOf(factor->rhs, sample)})
                                      : std::max(1.0, std::abs(double(sample.lookup(factor->name))));
    sum += product;
  }
  return sum;
}

} // namespace hewn::plan
