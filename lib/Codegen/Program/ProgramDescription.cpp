// SPDX-License-Identifier: Apache-2.0
//
// Describes an artifact as JSON, so that tools can read it without loading the artifact
// (docs/reference/json.md).
#include "hewn/runtime.h"
#include "hewn/version.h"
#include "lib/Codegen/Program/Program.h"
#include "lib/Support/JsonWriter.h"

#include "llvm/Support/FormatVariadic.h"

namespace json = llvm::json;
using hewn::graph::DimExpr;
using llvm::StringRef;

namespace hewn::codegen {

StringRef elementTypeName(int32_t onnx) {
  static constexpr StringRef names[] = {
      "",          "float32",    "uint8",      "int8",         "uint16",         "int16",      "int32",
      "int64",     "string",     "bool",       "float16",      "float64",        "uint32",     "uint64",
      "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2"};
  return onnx > 0 && size_t(onnx) < std::size(names) ? names[onnx] : "unknown";
}

namespace {

class Description {
public:
  Description(const ProgramInterface &interface, const WeightsReference &weights)
      : interface(interface), weights(weights) {}

  json::Object all() const {
    json::Array dims, variants, cpus, cases;
    for (const SymbolInterface &symbol : interface.symbols)
      dims.push_back(json::Object{{"name", jsonText(symbol.name)},
                                  {"min", symbol.min},
                                  {"max", symbol.max == INT64_MAX ? json::Value(nullptr) : json::Value(symbol.max)}});
    for (const VariantInterface &variant : interface.variants) {
      variants.push_back(variant.target);
      cpus.push_back(variant.cpu);
    }
    if (interface.cases.size() > 1)
      for (const CaseInterface &one : interface.cases)
        cases.push_back(json::Object{{"condition", jsonText(one.condition)},
                                     {"refusal", one.refusal.empty() ? json::Value(nullptr) : jsonText(one.refusal)},
                                     {"outputs", tensors(one.outputs)}});
    json::Object metadata;
    for (const auto &[key, value] : interface.metadata)
      metadata[json::fixUTF8(key)] = jsonText(value);
    return json::Object{{"hewn", HEWN_VERSION},
                        {"abi", HEWN_ABI_VERSION},
                        {"name", interface.name},
                        {"digest", interface.digest},
                        {"target", interface.target},
                        {"variants", std::move(variants)},
                        {"cpus", std::move(cpus)},
                        {"dims", std::move(dims)},
                        {"inputs", tensors(interface.inputs)},
                        {"outputs", tensors(interface.outputs)},
                        {"cases", std::move(cases)},
                        {"ranks", interface.numRanks},
                        {"metadata", std::move(metadata)},
                        {"partition", interface.partition.empty() ? json::Value(nullptr) : interface.partition},
                        {"weights", weightsOf()}};
  }

private:
  json::Value weightsOf() const {
    if (!weights.bytes)
      return nullptr;
    return json::Object{{"file", weights.file.empty() ? json::Value(nullptr) : jsonText(weights.file)},
                        {"bytes", weights.bytes},
                        {"bytes_by_rank", json::Array(interface.weightsByRank)},
                        {"digest", weights.digest}};
  }

  /// Returns a dim as JSON: a number, a symbol or formula as text, or null if the dim depends on
  /// data.
  json::Value dim(const TensorInterface &tensor, size_t d) const {
    if (d < tensor.unlike.size() && !tensor.unlike[d].empty())
      return tensor.dynamic ? json::Value(nullptr) : jsonText(tensor.unlike[d]);
    const DimExpr &dim = tensor.dims[d];
    if (std::optional<int64_t> size = dim.constant())
      return *size;
    bool known = true;
    dim.walkSymbols([&](StringRef name) { known &= interface.hasSymbol(name); });
    return known ? jsonText(dim.str()) : json::Value(nullptr);
  }

  json::Array tensors(llvm::ArrayRef<TensorInterface> list) const {
    static constexpr StringRef kinds[] = {"tensor", "sequence", "optional", "optional sequence"};
    static constexpr StringRef roles[] = {"", "map keys", "map values"};
    json::Array all;
    for (const TensorInterface &tensor : list) {
      bool isTensor = tensor.kind == HEWN_KIND_TENSOR;
      mlir::Type type = isTensor ? tensor.elementType : tensor.held;
      std::optional<ElementCodes> codes = type ? elementCodes(type) : std::nullopt;
      json::Array shape;
      for (size_t d = 0; isTensor && d < tensor.dims.size(); ++d)
        shape.push_back(dim(tensor, d));
      for (int32_t d = 0; !isTensor && d < tensor.heldRank; ++d)
        shape.push_back(nullptr);
      bool anyRank = !isTensor && tensor.heldRank < 0;
      all.push_back(json::Object{{"name", jsonText(tensor.name)},
                                 {"kind", tensor.role ? roles[tensor.role] : kinds[tensor.kind & 3]},
                                 {"type", elementTypeName(codes ? codes->onnx : 0)},
                                 {"shape", anyRank ? json::Value(nullptr) : json::Value(std::move(shape))}});
    }
    return all;
  }

  const ProgramInterface &interface;
  const WeightsReference &weights;
};

} // namespace

std::string describeProgram(const ProgramInterface &interface, const WeightsReference &weights) {
  return llvm::formatv("{0}", json::Value(Description(interface, weights).all())).str();
}

} // namespace hewn::codegen
