// SPDX-License-Identifier: Apache-2.0
//
// Generates the C header of a model.
#include "hewn/runtime.h"
#include "lib/Codegen/Program/Program.h"

#include "dialects/Handle/Handle.h"
#include "hewn/runtime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using hewn::graph::DimExpr;
using llvm::StringRef;

namespace hewn::codegen {

namespace {

/// Chooses unique C names for parameters.
class Names {
public:
  std::string take(StringRef wanted) {
    std::string name = parameterName(wanted);
    while (!taken.insert(name).second)
      name += '_';
    return name;
  }

private:
  llvm::StringSet<> taken;
};

/// Returns true if the tensor's elements are pointers to strings or to sequences.
bool isHandle(const TensorInterface &tensor) { return handle::isHandle(tensor.elementType); }

std::string shapeText(const TensorInterface &tensor) {
  std::string text;
  for (auto [d, dim] : llvm::enumerate(tensor.dims))
    text += "[" + (d < tensor.unlike.size() && !tensor.unlike[d].empty() ? tensor.unlike[d] : dim.str().str()) + "]";
  return text.empty() ? "one element" : text;
}

/// Returns the name of the variant's target, with the CPU if the target is the compiler's host.
std::string targetText(const VariantInterface &variant) {
  return variant.target == "host" ? "host (" + variant.cpu + ")" : variant.target;
}

/// Returns true if the dim is an expression over symbols of the model, and not one of the symbols.
bool isFormula(const ProgramInterface &interface, const DimExpr &dim) {
  bool isKnown = true, hasSymbol = false;
  dim.walkSymbols([&](StringRef symbol) {
    isKnown &= interface.hasSymbol(symbol);
    hasSymbol = true;
  });
  return isKnown && hasSymbol && llvm::none_of(interface.symbols, [&](const SymbolInterface &symbol) {
           return dim == DimExpr::symbol(symbol.name);
         });
}

/// Returns true if the size of a dim in the text of the outputs' shapes is not C.
bool hasFormula(const ProgramInterface &interface) {
  return llvm::any_of(interface.outputs, [&](const TensorInterface &output) {
    return llvm::any_of(output.dims, [&](const DimExpr &dim) { return isFormula(interface, dim); });
  });
}

/// Returns the element type as text, with the C type that stores it if that is not a number of this
/// type.
std::string typeText(const TensorInterface &tensor) {
  static constexpr StringRef kinds[] = {"", "sequence of ", "optional ", "optional sequence of "};
  bool isTensor = tensor.kind == HEWN_KIND_TENSOR;
  mlir::Type type = isTensor ? tensor.elementType : tensor.held;
  std::optional<ElementCodes> codes = type ? elementCodes(type) : std::nullopt;
  std::string text = kinds[tensor.kind & 3].str() + elementTypeName(codes ? codes->onnx : 0).str();
  // The names of integers are those of C: uint16_t stores uint16.
  const bool isStored = isTensor && !isHandle(tensor) && codes && codes->c != "float" && codes->c != "double" &&
                        !codes->c.starts_with(text + "_t");
  return isStored ? text + " (stored as " + codes->c.str() + ")" : text;
}

std::string rangeText(const SymbolInterface &symbol) {
  if (symbol.max == INT64_MAX)
    return symbol.min == 0 ? "any size" : "at least " + std::to_string(symbol.min);
  return symbol.min == symbol.max ? std::to_string(symbol.min)
                                  : std::to_string(symbol.min) + ".." + std::to_string(symbol.max);
}

/// Returns the shape of output `number` as text. If its rank depends on the case of the model,
/// returns the shape in each case.
std::string outputText(const ProgramInterface &interface, size_t number) {
  const TensorInterface &all = interface.outputs[number];
  std::string text;
  bool same = true;
  for (const CaseInterface &one : interface.cases) {
    if (one.outputs.empty())
      continue;
    same &= one.outputs[number].dims.size() == all.dims.size();
    text += (text.empty() ? "" : "; ") + shapeText(one.outputs[number]) + " where " + one.condition;
  }
  return same ? shapeText(all) : text;
}

/// Returns the name of a tensor or dim without characters that might end a comment.
std::string shownName(StringRef name) {
  std::string shown;
  for (char c : name)
    shown += c == '*' || c == '/' || c < ' ' ? '.' : c;
  return shown;
}

/// Returns the role of a tensor in a map as text, or an empty text if it belongs to no map.
std::string roleText(const TensorInterface &tensor) {
  if (!tensor.role)
    return "";
  return std::string(tensor.role == HEWN_ROLE_MAP_KEYS ? ", the keys" : ", the values") + " of the map \"" +
         shownName(tensor.mapName()) + "\"";
}

} // namespace

std::string headerText(const ProgramInterface &interface) {
  std::string text, guard = "HEWN_MODEL_" + StringRef(interface.name).upper() + "_H";
  llvm::raw_string_ostream os(text);
  std::string name = interface.name;
  Names names;
  names.take("context");
  std::string parameters, symbols, comment;
  // Describes a parameter. `text` begins with the quotation mark after the name.
  auto describe = [&](const std::string &parameter, StringRef name, const std::string &text) {
    comment += " *   " + parameter + ": \"" + shownName(name) + text + "\n";
  };
  for (const TensorInterface &input : interface.inputs) {
    std::string parameter = names.take(input.name);
    parameters +=
        ", const " + elementCodes(input.elementType)->c.str() + (isHandle(input) ? "const *" : " *") + parameter;
    describe(parameter, input.name, "\", " + typeText(input) + " " + shapeText(input) + roleText(input));
  }
  for (auto [i, output] : llvm::enumerate(interface.outputs)) {
    std::string parameter = names.take(output.name);
    parameters += (isHandle(output) ? ", const " : ", ") + elementCodes(output.elementType)->c.str() +
                  (isHandle(output) ? "" : " ") + (output.dynamic ? "**" : "*") + parameter;
    if (output.dynamic)
      parameters += ", int64_t *" + names.take(parameter + "_dims");
    describe(parameter, output.name, "\", " + typeText(output) + " " + outputText(interface, i) + roleText(output));
  }
  for (auto [i, symbol] : llvm::enumerate(interface.symbols)) {
    std::string parameter = names.take(symbol.name);
    symbols += ", int64_t " + parameter;
    bool isRank = interface.numRanks > 0 && i + 1 == interface.symbols.size();
    describe(parameter, symbol.name,
             isRank ? "\", the rank, which the context sets" : kHeaderRange.str() + rangeText(symbol));
  }
  std::string targets = llvm::join(
      llvm::map_range(interface.variants, [](const VariantInterface &variant) { return targetText(variant); }), ", ");
  if (hasFormula(interface))
    comment += " *\n * Shapes of outputs may be formulas over the dims, which are not C: " + name +
               ".output_dims(symbols, dims) computes them.\n";
  bool dynamic = llvm::any_of(interface.outputs, [](const TensorInterface &t) { return t.dynamic; });

  os << "/* Generated by hewn. */\n#ifndef " << guard << "\n#define " << guard << "\n\n#include <hewn/runtime.h>\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
     << "/** The model, for the functions of hewn/runtime.h. " << kHeaderTargets << targets
     << ". */\nextern const hewn_model " << name << ";\n\n"
     << "/** Returns the arena size of a run in bytes on this CPU. Negative if a dim is outside of the model's range, "
        "if "
        "the\n"
        " * size overflows 64 bits, or if the CPU supports none of the targets. */\nint64_t "
     << name << "_arena_bytes(" << (symbols.empty() ? "void" : symbols.substr(2)) << ");\n\n"
     << "/** Runs the model.\n"
     << comment;
  if (dynamic)
    os << " *\n * An output whose shape depends on data is allocated: its address is written to the parameter (not "
          "NULL), and its\n"
       << " * shape to the _dims array (may be NULL). Release it with hewn_output_release. */\n";
  else
    os << " */\n";
  os << "hewn_status " << name << "_run(hewn_context *context" << parameters << symbols << ");\n\n"
     << "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

} // namespace hewn::codegen
