// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Program/ProgramInterface.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Handle/Handle.h"
#include "dialects/Plan/Plan.h"
#include "hewn/runtime.h"
#include "lib/Transforms/Plan/Arena/Offsets.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::codegen {

bool ProgramInterface::hasSymbol(StringRef symbol) const {
  return llvm::any_of(symbols, [&](const SymbolInterface &s) { return s.name == symbol; });
}

ProgramInterface ProgramInterface::ofCase(size_t number) const {
  ProgramInterface own = *this;
  own.outputs = cases[number].outputs;
  return own;
}

std::optional<ElementCodes> elementCodes(Type type) {
  if (handle::isString(type))
    return ElementCodes{kDLOpaqueHandle, 64, 8, "char *"};
  if (handle::asList(type))
    return ElementCodes{kDLOpaqueHandle, 64, 8, "hewn_sequence *"};
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return ElementCodes{HEWN_DL_BOOL, 8, 9, "uint8_t"};
    case 8:
      return isUnsigned ? ElementCodes{kDLUInt, 8, 2, "uint8_t"} : ElementCodes{kDLInt, 8, 3, "int8_t"};
    case 16:
      return isUnsigned ? ElementCodes{kDLUInt, 16, 4, "uint16_t"} : ElementCodes{kDLInt, 16, 5, "int16_t"};
    case 32:
      return isUnsigned ? ElementCodes{kDLUInt, 32, 12, "uint32_t"} : ElementCodes{kDLInt, 32, 6, "int32_t"};
    case 64:
      return isUnsigned ? ElementCodes{kDLUInt, 64, 13, "uint64_t"} : ElementCodes{kDLInt, 64, 7, "int64_t"};
    case 2:
      return isUnsigned ? ElementCodes{kDLUInt, 2, 25, "uint8_t"} : ElementCodes{kDLInt, 2, 26, "uint8_t"};
    case 4:
      return isUnsigned ? ElementCodes{kDLUInt, 4, 21, "uint8_t"} : ElementCodes{kDLInt, 4, 22, "uint8_t"};
    default:
      return std::nullopt;
    }
  }
  if (type.isF32())
    return ElementCodes{kDLFloat, 32, 1, "float"};
  if (type.isF64())
    return ElementCodes{kDLFloat, 64, 11, "double"};
  if (type.isF16())
    return ElementCodes{kDLFloat, 16, 10, "uint16_t"};
  if (type.isBF16())
    return ElementCodes{kDLBfloat, 16, 16, "uint16_t"};
  if (isa<Float8E4M3FNType>(type))
    return ElementCodes{HEWN_DL_FLOAT8_E4M3FN, 8, 17, "uint8_t"};
  if (isa<Float8E4M3FNUZType>(type))
    return ElementCodes{HEWN_DL_FLOAT8_E4M3FNUZ, 8, 18, "uint8_t"};
  if (isa<Float8E5M2Type>(type))
    return ElementCodes{HEWN_DL_FLOAT8_E5M2, 8, 19, "uint8_t"};
  if (isa<Float8E5M2FNUZType>(type))
    return ElementCodes{HEWN_DL_FLOAT8_E5M2FNUZ, 8, 20, "uint8_t"};
  if (isa<Float8E8M0FNUType>(type))
    return ElementCodes{HEWN_DL_FLOAT8_E8M0FNU, 8, 24, "uint8_t"};
  if (isa<Float4E2M1FNType>(type))
    return ElementCodes{HEWN_DL_FLOAT4_E2M1FN, 4, 23, "uint8_t"};
  return std::nullopt;
}

static std::string nameOr(Attribute name, StringRef otherwise, size_t number) {
  if (auto text = dyn_cast_or_null<StringAttr>(name))
    return text.getValue().str();
  return (otherwise + Twine(number)).str();
}

/// Parses the type of the handles that the integers of a tensor represent, as `hewn-lower-handles`
/// recorded it in the attribute `written`. Returns null for numeric tensors.
static Type heldBy(func::FuncOp program, Attribute written) {
  auto text = dyn_cast_or_null<StringAttr>(written);
  Type type = text ? parseType(text, program.getContext()) : Type();
  return handle::isHandle(type) ? type : Type();
}

static void setHeld(TensorInterface &tensor, Type held) {
  if (!held)
    return;
  tensor.elementType = held;
  std::optional<handle::List> list = handle::asList(held);
  if (!list)
    return;
  static const int32_t kinds[] = {HEWN_KIND_SEQUENCE, HEWN_KIND_OPTIONAL, HEWN_KIND_OPTIONAL_SEQUENCE};
  tensor.kind = kinds[size_t(list->kind)];
  tensor.held = list->element;
  tensor.heldRank = int32_t(std::max<int64_t>(list->rank, -1));
}

static uint32_t roleOf(Attribute written) {
  auto text = dyn_cast_or_null<StringAttr>(written);
  return !text                                   ? HEWN_ROLE_NONE
         : text.getValue() == graph::kKeysRole   ? HEWN_ROLE_MAP_KEYS
         : text.getValue() == graph::kValuesRole ? HEWN_ROLE_MAP_VALUES
                                                 : HEWN_ROLE_NONE;
}

static LogicalResult addTensor(func::FuncOp program, std::vector<TensorInterface> &list, std::string name,
                               Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !elementCodes(type.getElementType()))
    return program.emitError() << "'" << name << "' has type " << value.getType()
                               << ", which is not supported for inputs and outputs of compiled models";
  if (auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding());
      layout && !llvm::is_sorted(layout.getOrder()))
    return program.emitError() << "'" << name << "' is not row-major";
  list.push_back({std::move(name), type.getElementType(), graph::getDims(value)});
  return success();
}

/// Returns the dims of an input that callers see. They may be more general than `own`, the dims in
/// a case of the model.
static graph::Dims declaredDims(func::FuncOp program, unsigned argument, const graph::Dims &own) {
  return graph::parseDims(program.getArgAttr(argument, graph::kDeclaredDimsAttr)).value_or(own);
}

FailureOr<ProgramInterface> readInterface(func::FuncOp program, StringRef name) {
  ProgramInterface interface;
  interface.name = modelName(name);
  for (auto [i, argument] : llvm::enumerate(program.getArguments())) {
    if (failed(addTensor(program, interface.inputs, nameOr(program.getArgAttr(i, graph::kNameAttr), "input", i),
                         argument)))
      return failure();
    TensorInterface &input = interface.inputs.back();
    setHeld(input, heldBy(program, program.getArgAttr(i, handle::kHeldAttr)));
    input.role = roleOf(program.getArgAttr(i, graph::kRoleAttr));
    input.dims = declaredDims(program, i, input.dims);
    for (const DimExpr &dim : input.dims)
      dim.walkSymbols([&](StringRef symbol) {
        if (!interface.hasSymbol(symbol))
          interface.symbols.push_back({symbol.str()});
      });
  }
  for (auto [i, value] : llvm::enumerate(program.getBody().front().getTerminator()->getOperands())) {
    if (failed(addTensor(program, interface.outputs, nameOr(program.getResultAttr(i, graph::kNameAttr), "output", i),
                         value)))
      return failure();
    setHeld(interface.outputs.back(), heldBy(program, program.getResultAttr(i, handle::kHeldAttr)));
    interface.outputs.back().role = roleOf(program.getResultAttr(i, graph::kRoleAttr));
    for (const DimExpr &dim : interface.outputs.back().dims)
      dim.walkSymbols([&](StringRef symbol) { interface.outputs.back().dynamic |= !interface.hasSymbol(symbol); });
  }
  if (auto rank = program->getAttrOfType<StringAttr>(graph::kRankSymbolAttr))
    interface.symbols.push_back({rank.getValue().str()});
  if (auto ranges = program->getAttrOfType<DictionaryAttr>(graph::kDimRangesAttr))
    for (SymbolInterface &symbol : interface.symbols)
      if (auto range = dyn_cast_or_null<DenseI64ArrayAttr>(ranges.get(symbol.name)); range && range.size() == 2) {
        symbol.min = range[0];
        symbol.max = range[1];
      }
  if (auto entries = program->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(graph::kMetadataAttr))
    for (NamedAttribute entry : entries)
      if (auto text = dyn_cast<StringAttr>(entry.getValue()))
        interface.metadata.push_back({entry.getName().str(), text.str()});
  if (program->hasAttr(graph::kRankSymbolAttr))
    interface.numRanks = int32_t(interface.symbols.back().max + 1);
  interface.cases.push_back({"", interface.outputs});
  return interface;
}

/// Merges the descriptions that an output has in the different cases. The result has the largest
/// rank. For each dim, chooses an expression that is valid in all cases with that rank.
static TensorInterface meet(ArrayRef<TensorInterface> cases, ArrayRef<graph::Facts> facts) {
  size_t rank = 0;
  for (const TensorInterface &one : cases)
    rank = std::max<size_t>(rank, one.dims.size());
  TensorInterface all = cases.front();
  all.dims.assign(rank, DimExpr(0));
  for (const TensorInterface &one : cases)
    all.dynamic |= one.dynamic;
  for (size_t d = 0; d < rank; ++d) {
    auto saysAll = [&](const DimExpr &dim) {
      return llvm::all_of(llvm::zip(cases, facts), [&](auto pair) {
        auto &[one, known] = pair;
        return one.dims.size() != rank ||
               one.dims[d] == dim.substitute([&](StringRef symbol) { return known.valueOf(symbol); });
      });
    };
    llvm::SetVector<StringRef> texts;
    bool found = false;
    for (const TensorInterface &one : cases) {
      if (one.dims.size() != rank || found)
        continue;
      texts.insert(one.dims[d].str());
      found = saysAll(one.dims[d]);
      all.dims[d] = one.dims[d];
    }
    if (found)
      continue;
    all.unlike.resize(rank);
    all.unlike[d] = llvm::join(texts, " or ");
  }
  return all;
}

FailureOr<ProgramInterface> readInterface(const graph::CaseTree &tree, ArrayRef<CaseProgram> cases, StringRef name) {
  ProgramInterface all;
  std::vector<std::vector<TensorInterface>> outputs;
  std::vector<graph::Facts> facts;
  std::vector<CaseInterface> shown;
  for (const CaseProgram &one : cases) {
    shown.push_back({graph::textOf(one.facts), {}, one.refusal});
    if (!one.program)
      continue;
    FailureOr<ProgramInterface> own = readInterface(one.program, name);
    if (failed(own))
      return failure();
    shown.back().outputs = own->outputs;
    outputs.resize(own->outputs.size());
    for (auto [list, output] : llvm::zip(outputs, own->outputs)) {
      if (!list.empty() && list.front().elementType != output.elementType)
        return func::FuncOp(one.program).emitError()
               << "'" << output.name << "' is of type " << output.elementType << " where " << graph::textOf(one.facts)
               << " and of type " << list.front().elementType << " elsewhere";
      list.push_back(output);
    }
    graph::Facts &known = facts.emplace_back();
    for (const graph::Fact &fact : one.facts)
      known.add(fact);
    all = std::move(*own);
  }
  if (facts.empty())
    return failure();
  all.tree = tree;
  all.cases = std::move(shown);
  for (auto [output, list] : llvm::zip(all.outputs, outputs))
    output = meet(list, facts);
  // Whether memory is allocated during a run must not depend on the case, because the runtime has
  // one flag per output.
  for (CaseInterface &one : all.cases)
    for (auto [output, merged] : llvm::zip(one.outputs, all.outputs))
      output.dynamic = merged.dynamic;
  return all;
}

ArenaSize readArenaSize(func::FuncOp program) {
  ArenaSize size;
  size.bytes = DimExpr::fromAttr(program->getAttr(plan::kArenaBytesAttr)).value_or(DimExpr(0));
  if (auto levels = program->getAttrOfType<ArrayAttr>(plan::kArenaLevelsAttr))
    for (auto [i, level] : llvm::enumerate(levels))
      size.levels.push_back({plan::levelName(i), DimExpr::fromAttr(level).value_or(DimExpr(0))});
  return size;
}

} // namespace hewn::codegen
