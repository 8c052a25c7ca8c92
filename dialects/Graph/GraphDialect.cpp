// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "dialects/Graph/Custom/Custom.h"
#include "dialects/Graph/GraphOps.h"
#include "dialects/Graph/Indexing/Interleave.h"
#include "dialects/Handle/Handle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Graph/GraphDialect.cpp.inc"
#include "dialects/Graph/GraphEnums.cpp.inc"
#include "dialects/Graph/GraphInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.cpp.inc"

namespace hewn::graph {

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Graph/GraphAttrs.cpp.inc"
      >();
#include "dialects/Graph/GraphFamilies.cpp.inc"
  addOperations<CustomOp, CustomSizesOp, InterleaveOp>();
}

//===------------------------------------------------------------------------------------------===//
// Verification of the dialect's attributes on other ops. IR read from text may hold any attribute
// here, and the code that uses these attributes does not check their types again.
//===------------------------------------------------------------------------------------------===//

/// Returns true if `attr` is a list of integers and #graph.dims that has one entry for each dim of
/// `type`.
static bool isDimsOf(Attribute attr, Type type) {
  std::optional<Dims> dims = parseDims(attr);
  auto tensor = dyn_cast<RankedTensorType>(type);
  return dims && (!tensor || int64_t(dims->size()) == tensor.getRank());
}

/// Returns true if `attr` is a list that contains a valid list of dims for each of `types`.
static bool areDimsOf(Attribute attr, TypeRange types) {
  auto lists = dyn_cast<ArrayAttr>(attr);
  return lists && lists.size() == types.size() && llvm::all_of(llvm::zip(lists, types), [](auto pair) {
           return isDimsOf(std::get<0>(pair), std::get<1>(pair));
         });
}

template <typename Entry> static bool isListOf(Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  return list && llvm::all_of(list, llvm::IsaPred<Entry>);
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  auto refuse = [&](StringRef what) {
    return op->emitOpError("has no ") << what << " in '" << attribute.getName().getValue() << "'";
  };
  if (attribute.getName() == kDimsAttr && !areDimsOf(attribute.getValue(), op->getResultTypes()))
    return refuse("list of dims for each result");
  if (attribute.getName() == kRequiresAttr && !isListOf<RequirementAttr>(attribute.getValue()))
    return refuse("list of #graph.requirement");
  if (attribute.getName() == kCasesAttr && !isListOf<CaseAttr>(attribute.getValue()))
    return refuse("list of #graph.case");
  if (attribute.getName() == kQuestionsAttr && !isListOf<QuestionAttr>(attribute.getValue()))
    return refuse("list of #graph.question");
  if (attribute.getName() == kCaseNumberAttr || attribute.getName() == kRankAttr) {
    auto number = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!number || !number.getType().isSignlessInteger(64) || number.getInt() < 0)
      return refuse("number");
  }
  return success();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned argument,
                                                     NamedAttribute attribute) {
  bool isDims = attribute.getName() == kDimsAttr || attribute.getName() == kDeclaredDimsAttr;
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!isDims || !function || isDimsOf(attribute.getValue(), function.getArgumentTypes()[argument]))
    return success();
  return op->emitOpError("has no list of dims in '") << attribute.getName().getValue() << "' of argument " << argument;
}

LogicalResult LayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> order,
                                 int64_t blockDim, int64_t block, int64_t groupDim, int64_t group, int64_t tile,
                                 ArrayRef<int64_t> windows, int64_t subviewDim, int64_t whole) {
  SmallVector<bool> seen(order.size(), false);
  for (int64_t dim : order) {
    if (dim < 0 || dim >= int64_t(order.size()) || seen[dim])
      return emitError() << "a layout must name each dim once";
    seen[dim] = true;
  }
  if (blockDim < -1 || blockDim >= int64_t(order.size()) || block < 1)
    return emitError() << "blockDim must name a dim and block be positive";
  if (groupDim < -1 || groupDim >= int64_t(order.size()) || group < 1 || (groupDim >= 0 && groupDim == blockDim) ||
      (groupDim >= 0 && blockDim < 0))
    return emitError() << "groupDim must be a dim other than blockDim, and group must be positive";
  bool twoDims = windows.size() == 2 && windows[0] != windows[1] &&
                 llvm::all_of(windows, [&](int64_t d) { return d >= 0 && d < int64_t(order.size()) && d != blockDim; });
  if (tile != 0 && (!winograd(tile) || !twoDims || blockDim < 0 || groupDim >= 0))
    return emitError() << "tile must be 2 or 4, with two window dims other than blockDim and no groupDim";
  bool isSubview = subviewDim >= 0 && subviewDim < int64_t(order.size()) && whole > 0 && blockDim < 0;
  if (!isSubview && (subviewDim != -1 || whole != 0))
    return emitError() << "a subview needs a valid dim, a positive size of the enclosing tensor, and no blockDim";
  return success();
}

OnnxNode::~OnnxNode() = default;

LogicalResult OnnxNode::needsDefault(StringRef name, int64_t otherwise) {
  int64_t given = getInt(name, otherwise, Range::Any);
  if (given == otherwise)
    return success();
  return refuse("attribute '" + name + "' is " + Twine(given) + "; only " + Twine(otherwise) + " is supported");
}

LogicalResult OnnxNode::needsDefault(StringRef name, StringRef otherwise) {
  std::string given = getString(name, otherwise);
  if (given == otherwise)
    return success();
  return refuse("attribute '" + name + "' is '" + given + "'; only '" + otherwise + "' is supported");
}

std::optional<int64_t> OnnxNode::axis(int64_t written, int64_t rank) {
  std::optional<int64_t> dim = normalizeAxis(written, rank);
  if (!dim)
    (void)refuse("axis " + Twine(written) + " is outside of rank " + Twine(rank));
  return dim;
}

LogicalResult OnnxNode::finish(Value value) {
  if (!value)
    return failure();
  setOutput(0, value);
  return success();
}

} // namespace hewn::graph
