// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/ArtifactCache.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <filesystem>

using llvm::SmallString;
using llvm::StringRef;
namespace json = llvm::json;

namespace hewn {

/// Another one where any source of the compiler is another.
static constexpr char kCompilerId[] =
#include "lib/Compiler/CompilerId.inc"
    ;

namespace {

std::unique_ptr<llvm::MemoryBuffer> open(const llvm::Twine &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return file ? std::move(*file) : nullptr;
}

class Hash {
public:
  Hash &operator<<(StringRef text) {
    uint64_t size = text.size();
    hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&size), sizeof(size)));
    hash.update(text);
    return *this;
  }
  Hash &operator<<(int64_t number) { return *this << StringRef(std::to_string(number)); }
  std::string text() { return llvm::toHex(hash.final(), /*LowerCase=*/true); }

private:
  llvm::BLAKE3 hash;
};

std::string digest(const llvm::MemoryBuffer &file) { return (Hash() << file.getBuffer()).text(); }

/// Files of hundreds of megabytes: by what the system has for copies.
bool copyFile(const std::string &from, const std::string &to) {
  SmallString<128> beside;
  llvm::sys::fs::createUniquePath(to + ".%%%%%%%%", beside, /*MakeAbsolute=*/false);
  std::error_code error;
  std::filesystem::copy_file(from, beside.str().str(), error);
  if (!error && !llvm::sys::fs::rename(beside, to))
    return true;
  (void)llvm::sys::fs::remove(beside);
  return false;
}

json::Object toJSON(const Message &message) {
  return json::Object{{"node", message.node},
                      {"op", message.op},
                      {"domain", message.domain},
                      {"opset", message.opset},
                      {"message", message.message}};
}

Message messageFrom(const json::Object &object) {
  auto text = [&](StringRef field) { return object.getString(field).value_or("").str(); };
  return {Message::Level::Warning, text("node"), text("op"), text("domain"), object.getInteger("opset").value_or(0),
          text("message")};
}

} // namespace

ArtifactCache::ArtifactCache(Compilation &compilation) : c(compilation) {
  const CompileOptions &o = c.options;
  if (o.cacheDir.empty() || !o.emit.empty() || o.output.empty())
    return;
  std::unique_ptr<llvm::MemoryBuffer> model, runtime = open(o.runtime.empty() ? findRuntime() : o.runtime);
  if (o.modelBytes.empty() && !(model = open(o.modelPath)))
    return; // which the importer says better
  Hash hash;
  hash << kCompilerId << LLVM_VERSION_STRING << (runtime ? runtime->getBuffer() : "");
  for (const codegen::MachineSpec &machine : c.machines)
    hash << machine.name << machine.triple << machine.cpu << machine.features;
  hash << o.target << o.precision << o.quantize << o.name << int64_t(o.threads) << int64_t(o.optimize)
       << int64_t(o.embedWeights);
  for (const std::string &dim : o.dims)
    hash << dim;
  // Names of files stand in the artifact and in messages.
  hash << llvm::sys::path::filename(o.output) << o.modelPath << int64_t(model != nullptr)
       << (model ? model->getBuffer() : o.modelBytes);
  key = hash.text();
}

std::string ArtifactCache::path(StringRef part) const {
  SmallString<128> path(c.options.cacheDir);
  // The name that LLVM's pruning of caches takes for its own.
  llvm::sys::path::append(path, "llvmcache-" + key + "-" + part);
  return path.str().str();
}

std::string ArtifactCache::modelFolder() const {
  if (c.options.modelPath.empty())
    return c.options.modelFolder + "/";
  StringRef parent = llvm::sys::path::parent_path(c.options.modelPath);
  return (parent.empty() ? "." : parent.str()) + "/";
}

bool ArtifactCache::restore() {
  std::unique_ptr<llvm::MemoryBuffer> text = key.empty() ? nullptr : open(path("entry"));
  llvm::Expected<json::Value> parsed = json::parse(text ? text->getBuffer() : "null");
  json::Object *entry = parsed ? parsed->getAsObject() : nullptr;
  if (!parsed)
    consumeError(parsed.takeError());
  json::Object *external = entry ? entry->getObject("external") : nullptr;
  json::Array *files = entry ? entry->getArray("files") : nullptr,
              *warnings = entry ? entry->getArray("warnings") : nullptr;
  if (!external || !files || !warnings)
    return false;
  for (auto &[name, wanted] : *external) {
    std::unique_ptr<llvm::MemoryBuffer> file = open(modelFolder() + name.str());
    if (!file || digest(*file) != wanted.getAsString())
      return false;
  }
  std::vector<std::string> written;
  for (json::Value &value : *files) {
    SmallString<128> to(llvm::sys::path::parent_path(c.options.output));
    llvm::sys::path::append(to, value.getAsString().value_or(""));
    if (!copyFile(path(std::to_string(written.size())), to.str().str()))
      return false; // of which the rest was pruned: compiled anew
    written.push_back(to.str().str());
  }
  for (json::Value &value : *warnings)
    if (json::Object *warning = value.getAsObject())
      c.diagnostics.report(messageFrom(*warning));
  c.result.files = std::move(written);
  c.result.name = entry->getString("name").value_or("").str();
  c.result.weightsBytes = entry->getInteger("weightsBytes").value_or(0);
  c.result.numKernels = entry->getInteger("numKernels").value_or(0);
  return true;
}

void ArtifactCache::keep() {
  if (key.empty())
    return;
  json::Object external;
  json::Array files, warnings;
  for (const auto &mapping : c.weights.mappedFiles()) {
    StringRef name = mapping->getBufferIdentifier();
    if (name == c.options.modelPath)
      continue;
    if (!name.consume_front(modelFolder()))
      return;
    external[name] = digest(*mapping);
  }
  for (const std::string &file : c.result.files) {
    if (!copyFile(file, path(std::to_string(files.size()))))
      return;
    files.push_back(llvm::sys::path::filename(file));
  }
  for (const Message &message : c.diagnostics.messages())
    warnings.push_back(toJSON(message));
  json::Value entry = json::Object{{"external", std::move(external)},
                                   {"files", std::move(files)},
                                   {"warnings", std::move(warnings)},
                                   {"name", c.result.name},
                                   {"weightsBytes", int64_t(c.result.weightsBytes)},
                                   {"numKernels", int64_t(c.result.numKernels)}};
  // The entry last: who finds it finds the files.
  llvm::consumeError(llvm::writeToOutput(path("entry"), [&](llvm::raw_ostream &os) {
    os << entry;
    return llvm::Error::success();
  }));
}

} // namespace hewn
