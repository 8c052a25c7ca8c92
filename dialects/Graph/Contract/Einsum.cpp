// SPDX-License-Identifier: Apache-2.0
//
// Decomposes Einsum into matmuls of two operands at a time. Before each matmul, the remaining dims
// of both operands are sorted into batch, row, column and reduction dims.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {

/// A label of a dim in an einsum equation: a letter, or, for a dim of `...`, 256 + the distance
/// from the last dim of `...`.
using Label = int;
using Subscripts = SmallVector<Label>;

struct Term {
  Value value;
  Subscripts labels;
};

struct Equation {
  SmallVector<Subscripts> inputs;
  Subscripts output;
};

class Einsum {
public:
  explicit Einsum(OnnxNode &node) : node(node), c(node) {}
  LogicalResult build();

private:
  std::optional<Subscripts> parse(StringRef text, int64_t rank);
  std::optional<Equation> parseEquation();
  Term withoutRepeats(Term term);
  Term sumAway(Term term, llvm::function_ref<bool(Label)> keep);
  Value arrange(const Term &term, ArrayRef<Label> order);
  Term multiply(const Term &a, const Term &b, llvm::function_ref<bool(Label)> needed);

  OnnxNode &node;
  Composer c;
  /// The number of dims that `...` represents, which ONNX requires to be equal in all terms. Absent
  /// if no parsed term has `...`.
  std::optional<int64_t> ellipsis;
  /// The number of dims of a term whose `...` represents another number of dims than `ellipsis`.
  std::optional<int64_t> otherEllipsis;
};

} // namespace

/// Returns the subscripts of a term, or nullopt if it is malformed. `rank` is the rank of the
/// operand, or negative for the term of the output, in which `...` represents all dims of the
/// equation's `...`.
std::optional<Subscripts> Einsum::parse(StringRef text, int64_t rank) {
  Subscripts labels;
  std::optional<size_t> dots;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("...") && !dots) {
      dots = labels.size();
      i += 2;
    } else if (llvm::isAlpha(text[i])) {
      labels.push_back(text[i]);
    } else {
      return std::nullopt;
    }
  }
  if (!dots)
    return rank >= 0 && int64_t(labels.size()) != rank ? std::nullopt : std::optional(labels);
  int64_t hidden = rank < 0 ? ellipsis.value_or(0) : rank - int64_t(labels.size());
  if (hidden < 0)
    return std::nullopt;
  if (ellipsis.value_or(hidden) != hidden) {
    otherEllipsis = hidden;
    return std::nullopt;
  }
  ellipsis = hidden;
  Subscripts more;
  for (int64_t i = hidden; i-- > 0;)
    more.push_back(256 + int(i));
  labels.insert(labels.begin() + *dots, more.begin(), more.end());
  return labels;
}

std::optional<Equation> Einsum::parseEquation() {
  std::string text = node.getString("equation", "");
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  bool explicitOutput = StringRef(text).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  Equation equation;
  if (terms.size() != node.numInputs())
    return std::nullopt;
  for (auto [i, term] : llvm::enumerate(terms)) {
    std::optional<Subscripts> labels = node.input(i) ? parse(term, getRank(node.input(i))) : std::nullopt;
    if (!labels)
      return std::nullopt;
    equation.inputs.push_back(*labels);
  }
  if (explicitOutput) {
    std::optional<Subscripts> labels = parse(right, -1);
    if (!labels)
      return std::nullopt;
    equation.output = *labels;
    return equation;
  }
  // For an equation without an explicit output term, the output has the dims of `...`, then the
  // letters that appear only once, in alphabetical order.
  for (int64_t i = ellipsis.value_or(0); i-- > 0;)
    equation.output.push_back(256 + int(i));
  for (Label letter = 'A'; letter <= 'z'; ++letter) {
    int64_t count = 0;
    for (const Subscripts &labels : equation.inputs)
      count += llvm::count(labels, letter);
    if (count == 1)
      equation.output.push_back(letter);
  }
  return equation;
}

/// Replaces dims of an einsum operand with equal labels ("ii") by their diagonal, a single dim.
Term Einsum::withoutRepeats(Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    SmallVector<int64_t> same;
    for (auto [d, label] : llvm::enumerate(term.labels))
      if (label == term.labels[i])
        same.push_back(d);
    if (same.size() < 2 || !term.value)
      continue;
    Label label = term.labels[i];
    term.value = node.make<DiagonalOp>(term.value, node.attr("dims", ArrayRef<int64_t>(same)));
    llvm::erase(term.labels, label);
    term.labels.insert(term.labels.begin(), label);
    i = 0;
  }
  return term;
}

Term Einsum::sumAway(Term term, llvm::function_ref<bool(Label)> keep) {
  SmallVector<int64_t> gone;
  for (auto [d, label] : llvm::enumerate(term.labels))
    if (!keep(label))
      gone.push_back(d);
  if (gone.empty())
    return term;
  term.value = c.reduce<ReduceSumOp>(term.value, gone, false);
  llvm::erase_if(term.labels, [&](Label label) { return !keep(label); });
  return term;
}

/// Transposes the dims of an einsum operand to the order of the labels `order`. Labels that the
/// operand lacks become dims of 1.
Value Einsum::arrange(const Term &term, ArrayRef<Label> order) {
  if (!term.value)
    return {};
  Dims dims = getDims(term.value), shape;
  SmallVector<int64_t> permutation;
  for (Label label : order) {
    const Label *found = llvm::find(term.labels, label);
    if (found == term.labels.end()) {
      shape.push_back(DimExpr(1));
      continue;
    }
    permutation.push_back(found - term.labels.begin());
    shape.push_back(dims[permutation.back()]);
  }
  return c.reshape(c.transpose(term.value, permutation), shape);
}

Term Einsum::multiply(const Term &a, const Term &b, llvm::function_ref<bool(Label)> needed) {
  if (!a.value || !b.value)
    return {};
  Subscripts batch, left, right, summed;
  for (Label label : a.labels)
    (!llvm::is_contained(b.labels, label) ? left : needed(label) ? batch : summed).push_back(label);
  for (Label label : b.labels)
    if (!llvm::is_contained(a.labels, label))
      right.push_back(label);
  auto together = [](std::initializer_list<ArrayRef<Label>> lists) {
    Subscripts all;
    for (ArrayRef<Label> list : lists)
      llvm::append_range(all, list);
    return all;
  };
  Term result{{}, together({batch, left, right})};
  if (summed.empty()) {
    result.value = c.op<MulOp>({arrange(a, result.labels), arrange(b, result.labels)});
    return result;
  }
  Value l = arrange(a, together({batch, left, summed})), r = arrange(b, together({batch, summed, right}));
  if (!l || !r)
    return {};
  Dims lDims = getDims(l), rDims = getDims(r);
  ArrayRef<DimExpr> leftDims = ArrayRef(lDims).slice(batch.size(), left.size()),
                    summedDims = ArrayRef(lDims).drop_front(batch.size() + left.size()),
                    rightDims = ArrayRef(rDims).drop_front(batch.size() + summed.size());
  Dims lShape(lDims.begin(), lDims.begin() + batch.size()), rShape(rDims.begin(), rDims.begin() + batch.size());
  lShape.append({numElements(leftDims), numElements(summedDims)});
  rShape.append({numElements(summedDims), numElements(rightDims)});
  Value product = composeMatMul(c, c.reshape(l, lShape), c.reshape(r, rShape));
  if (!product)
    return {};
  Dims shape = getDims(product);
  shape.truncate(batch.size());
  llvm::append_range(shape, leftDims);
  llvm::append_range(shape, rightDims);
  result.value = c.reshape(product, shape);
  return result;
}

LogicalResult Einsum::build() {
  std::optional<Equation> equation = parseEquation();
  if (otherEllipsis)
    return node.refuse("equation '" + node.getString("equation", "") + "': '...' represents " + Twine(*ellipsis) +
                       " dims of one input and " + Twine(*otherEllipsis) + " of another");
  if (!equation || equation->inputs.empty())
    return node.refuse("equation '" + node.getString("equation", "") + "' does not match the inputs");
  SmallVector<Term> terms;
  for (auto [i, labels] : llvm::enumerate(equation->inputs))
    terms.push_back(withoutRepeats({node.input(i), labels}));
  for (Label label : equation->output)
    if (llvm::none_of(terms, [&](const Term &t) { return llvm::is_contained(t.labels, label); }) ||
        llvm::count(equation->output, label) != 1)
      return node.refuse("equation '" + node.getString("equation", "") +
                         "' has an output label that is not in any input");
  Term result;
  for (size_t i = 0; i < terms.size(); ++i) {
    auto neededLater = [&](Label label) {
      return llvm::is_contained(equation->output, label) ||
             llvm::any_of(ArrayRef(terms).drop_front(i + 1),
                          [&](const Term &t) { return llvm::is_contained(t.labels, label); });
    };
    auto neededNow = [&](Label label) {
      return neededLater(label) || (i > 0 && llvm::is_contained(result.labels, label));
    };
    Term term = sumAway(terms[i], neededNow);
    result = i == 0 ? term : multiply(result, term, neededLater);
    if (!result.value)
      return failure();
    result = sumAway(result, neededLater);
  }
  return node.finish(arrange(result, equation->output));
}

LogicalResult buildEinsum(OnnxNode &node) { return Einsum(node).build(); }

} // namespace hewn::graph
