// SPDX-License-Identifier: Apache-2.0
//
// The C header of a model.
#include "lib/Codegen/Program/Program.h"

#include "dialects/Handle/Handle.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using hewn::graph::DimExpr;
using llvm::StringRef;

namespace hewn::codegen {

namespace {

/// C names for parameters, each once.
class Names {
public:
  std::string take(StringRef wanted) {
    std::string name = cName(wanted);
    while (!taken.insert(name).second)
      name += '_';
    return name;
  }

private:
  llvm::StringSet<> taken;
};

/// Whether elements are pointers: to text, or to a sequence.
bool isHandle(const TensorInterface &tensor) { return handle::isHandle(tensor.elementType); }

std::string shapeText(const TensorInterface &tensor) {
  std::string text;
  for (auto [d, dim] : llvm::enumerate(tensor.dims))
    text += "[" + (d < tensor.unlike.size() && !tensor.unlike[d].empty() ? tensor.unlike[d] : dim.str().str()) + "]";
  return text.empty() ? "one element" : text;
}

/// The same of output `number`, case by case where its rank is not the same in all.
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

} // namespace

std::string headerText(const ProgramInterface &interface) {
  std::string text, guard = "HEWN_MODEL_" + StringRef(interface.name).upper() + "_H";
  llvm::raw_string_ostream os(text);
  std::string name = interface.name;
  Names names;
  names.take("context");
  std::string parameters, symbols, comment;
  auto describe = [&](const std::string &parameter, const TensorInterface &tensor, const std::string &shape) {
    // A name from the model may hold what would end the comment.
    std::string shown;
    for (char c : tensor.name)
      shown += c == '*' || c == '/' || c < ' ' ? '.' : c;
    comment += " *   " + parameter + ": \"" + shown + "\", " + shape + "\n";
  };
  for (const TensorInterface &input : interface.inputs) {
    std::string parameter = names.take(input.name);
    parameters +=
        ", const " + elementCodes(input.elementType)->c.str() + (isHandle(input) ? "const *" : " *") + parameter;
    describe(parameter, input, shapeText(input));
  }
  for (auto [i, output] : llvm::enumerate(interface.outputs)) {
    std::string parameter = names.take(output.name);
    parameters += (isHandle(output) ? ", const " : ", ") + elementCodes(output.elementType)->c.str() +
                  (isHandle(output) ? "" : " ") + (output.dynamic ? "**" : "*") + parameter;
    if (output.dynamic)
      parameters += ", int64_t *" + names.take(parameter + "_dims");
    describe(parameter, output, outputText(interface, i));
  }
  for (const SymbolInterface &symbol : interface.symbols)
    symbols += ", int64_t " + names.take(symbol.name);
  std::string targets = llvm::join(
      llvm::map_range(interface.variants, [](const VariantInterface &variant) { return variant.target; }), ", ");
  bool dynamic = llvm::any_of(interface.outputs, [](const TensorInterface &t) { return t.dynamic; });

  os << "/* Made by hewn. */\n#ifndef " << guard << "\n#define " << guard << "\n\n#include <hewn/runtime.h>\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
     << "/** The model, for the functions of hewn/runtime.h. " << kHeaderTargets << targets
     << ". */\nextern const hewn_model " << name << ";\n\n"
     << "/** Bytes of memory that a run needs on this machine; negative where they do not fit in 64 bits, or where it "
        "can run\n"
        " * none of the code. */\nint64_t "
     << name << "_arena_bytes(" << (symbols.empty() ? "void" : symbols.substr(2)) << ");\n\n"
     << "/** Runs the model.\n"
     << comment;
  if (dynamic)
    os << " *\n * A shape that depends on data is written to the _dims array (may be NULL); such an output is "
          "allocated,\n"
       << " * give it back by hewn_output_release. */\n";
  else
    os << " */\n";
  os << "hewn_status " << name << "_run(hewn_context *context" << parameters << symbols << ");\n\n"
     << "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

} // namespace hewn::codegen
