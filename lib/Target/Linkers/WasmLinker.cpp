// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Linkers/WasmLinker.h"
#include "hewn/runtime.h"
#include "lib/Codegen/Emit/OpenBinary.h"
#include "lib/Target/Linkers/Lld.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/Wasm.h"

LLD_HAS_DRIVER(wasm)

using namespace llvm;
using namespace hewn::codegen;

namespace hewn::target {

/// Size of the stack, in bytes: kernels use up to 512 KiB (hewn/runtime.h), and a program some
/// kilobytes. The stack is below all data, so that an overflow is a trap.
static constexpr unsigned kStackBytes = 1 << 20;

ArrayRef<ArtifactKind> WasmLinker::kinds() const {
  static constexpr ArtifactKind kinds[] = {
      {ArtifactForm::Library, ".wasm", ""}, {ArtifactForm::Archive, ".a", "lib"}, {ArtifactForm::Object, ".o", ""}};
  return kinds;
}

ArrayRef<StringRef> WasmLinker::ownSymbols() const {
  // The last ones are in the runtime: LLVM calls them for 128-bit integers, as in checked products.
  static constexpr StringRef names[] = {
      "__stack_pointer", "__indirect_function_table", "__linear_memory", "__multi3", "__ashlti3", "__lshrti3",
      "__ashrti3"};
  return names;
}

/// wasm-ld only warns about calls whose signature differs from that of the function, and replaces
/// them by traps. All warnings are therefore errors.
static Error runWasmLd(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--fatal-warnings");
  return runLld("wasm-ld", {lld::Wasm, &lld::wasm::link}, arguments);
}

/// Verifies that a module for the web has no imports: its host can instantiate it without any.
static Error checkImports(const std::string &library, const LinkJob &job) {
  if (job.triple.isOSWASI())
    return Error::success();
  Expected<Opened<object::WasmObjectFile>> open = Opened<object::WasmObjectFile>::open(library);
  if (!open)
    return open.takeError();
  SmallVector<std::string> imports;
  for (const wasm::WasmImport &import : open->binary->imports())
    imports.push_back(("'" + import.Module + "." + import.Field + "'").str());
  if (imports.empty())
    return Error::success();
  return createStringError("the module imports " + join(imports, ", ") +
                           ", and a module for the web has no imports: the code of custom ops must define them");
}

Error WasmLinker::linkLibrary(const LinkJob &job, StringRef, const std::string &to, const ScratchFolder &) const {
  std::vector<std::string> arguments = {"--no-entry",  "--gc-sections",
                                        "--strip-all", "--stack-first",
                                        "-z",          "stack-size=" + std::to_string(kStackBytes),
                                        "-o",          to};
  for (const std::string &name : {job.model, job.model + "_run", job.model + "_arena_bytes"})
    arguments.push_back("--export=" + name);
  for (StringRef name :
       {"hewn_context_create", "hewn_context_destroy", "hewn_context_reserve", "hewn_context_message", "hewn_run",
        "hewn_run_counted", "hewn_run_pointers", "hewn_output_release", "hewn_arena_bytes", "hewn_model_variant",
        "hewn_code_name", "hewn_wasm_allocate", "hewn_wasm_release", "__heap_base"})
    arguments.push_back(("--export=" + name).str());
  arguments.insert(arguments.end(), job.objects.begin(), job.objects.end());
  if (!job.weights.empty())
    arguments.push_back(job.weights);
  arguments.push_back(job.runtime);
  arguments.insert(arguments.end(), job.parts.begin(), job.parts.end());
  arguments.insert(arguments.end(), job.userCode.begin(), job.userCode.end());
  if (Error error = runWasmLd(arguments))
    return error;
  return checkImports(to, job);
}

Error WasmLinker::linkRelocatable(ArrayRef<std::string> objects, const std::string &to) const {
  std::vector<std::string> arguments = {"-r", "-o", to};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  return runWasmLd(arguments);
}

BinaryKind WasmLinker::binaryKind(StringRef content) const {
  if (identify_magic(content) != file_magic::wasm_object)
    return BinaryKind::None;
  Expected<std::unique_ptr<object::WasmObjectFile>> file =
      object::ObjectFile::createWasmObjectFile(MemoryBufferRef(content, ""));
  if (!file) { // damaged: the reader of its content reports how
    consumeError(file.takeError());
    return BinaryKind::Library;
  }
  return (*file)->isRelocatableObject() ? BinaryKind::Object : BinaryKind::Library;
}

/// The linker concatenates custom sections of the same name, hence the newline.
void WasmLinker::storeDescription(Module &module, StringRef text) const {
  LLVMContext &context = module.getContext();
  module.getOrInsertNamedMetadata("wasm.custom_sections")
      ->addOperand(
          MDNode::get(context, {MDString::get(context, HEWN_NOTE_NAME), MDString::get(context, (text + "\n").str())}));
}

Error WasmLinker::readDescriptions(const object::Binary &binary, function_ref<Error(StringRef)> visit) const {
  const auto &file = cast<object::WasmObjectFile>(binary); // the only class for files with this magic number
  for (const object::SectionRef &reference : file.sections()) {
    const object::WasmSection &section = file.getWasmSection(reference);
    if (section.Type != wasm::WASM_SEC_CUSTOM || section.Name != HEWN_NOTE_NAME)
      continue;
    for (StringRef line : split(toStringRef(section.Content), '\n'))
      if (!line.empty())
        if (Error error = visit(line))
          return error;
  }
  return Error::success();
}

} // namespace hewn::target
