// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/ArtifactCache.h"
#include "lib/Codegen/Emit/LinkerTool.h"
#include "lib/Compiler/Emit/Emit.h"
#include "lib/Compiler/Emit/Runtime.h"
#include "lib/Support/Files/CacheFile.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Target/Targets.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using llvm::StringRef;
namespace json = llvm::json;

namespace hewn {

/// Hash of the compiler's sources, so that another version of the compiler uses other cache
/// entries.
static constexpr char kCompilerId[] =
#include "lib/Compiler/CompilerId.inc"
    ;

namespace {

std::unique_ptr<llvm::MemoryBuffer> open(StringRef path) {
  std::string why;
  return openRegular(path, why);
}

std::string digest(const llvm::MemoryBuffer &file) {
  ContentHash hash;
  hash.append(file.getBuffer());
  return hash.text();
}

std::optional<json::Value> readJSON(const std::string &path) {
  std::optional<std::string> text = readCacheFile(path);
  llvm::Expected<json::Value> parsed = json::parse(text ? *text : "null");
  if (parsed)
    return std::move(*parsed);
  consumeError(parsed.takeError());
  return std::nullopt;
}

void writeJSON(const std::string &path, json::Value value) { writeCacheFile(path, llvm::formatv("{0}", value).str()); }

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

ArtifactCache::ArtifactCache(const Request &request) : options(request.options), began(fileTime()) {
  const CompileOptions &o = options;
  // Does not cache compiles with custom functions that are given by address, because addresses are
  // valid in this process only, nor the steps of a quantizing compile, because they have results
  // besides the artifact.
  if (o.cacheDir.empty() || !o.emit.empty() || o.output.empty() || !o.customFunctions.empty() || o.step)
    return;
  const codegen::TargetSpec base = target::baseTarget(request.machines.front());
  isLibrary = base.platform->linker.is(codegen::ArtifactForm::Library, o.output);
  std::string runtimePath = o.runtime.empty() ? findRuntime(base) : o.runtime;
  std::unique_ptr<llvm::MemoryBuffer> model, runtime = open(runtimePath);
  if (o.modelBytes.empty() && !(model = open(o.modelPath)))
    return; // the model cannot be read: the importer reports the error
  ContentHash hash;
  hash << kCompilerId << LLVM_VERSION_STRING << (runtime ? runtime->getBuffer() : "");
  for (const std::string &part : findParts(runtimePath))
    if (std::unique_ptr<llvm::MemoryBuffer> archive = open(part))
      hash << part << archive->getBuffer();
  for (const codegen::TargetSpec &machine : request.machines)
    hash << machine.name << machine.triple << machine.cpu << machine.features;
  hash << o.weights; // `keep` records the content
  hash << o.target << nameOf(request.precision) << o.name << int64_t(o.optimize) << int64_t(o.embedWeights);
  for (const std::string &dim : o.dims)
    hash << dim;
  hash << o.dimNames << request.limits.folding;
  hash << request.partition.tensor << request.partition.stages << request.partition.microBatches
       << int64_t(request.partition.orderedSums) << request.partition.lines;
  if (request.partition.isAuto) { // the best partition depends on the cluster file
    std::unique_ptr<llvm::MemoryBuffer> cluster = open(o.cluster);
    hash << (cluster ? cluster->getBuffer() : o.cluster);
  }
  // hashes the content of the tuning files, which does not depend on their order
  if (request.tuning.size() > 0)
    hash << request.tuning.text();
  for (const std::string &text : request.customOps.texts)
    hash << text;
  for (const std::string &path : request.customOps.code) {
    std::unique_ptr<llvm::MemoryBuffer> code = open(path);
    hash << path << (code ? code->getBuffer() : "");
  }
  // Hashes the output's file names, because they appear in the artifact and in messages.
  hash << llvm::sys::path::filename(o.output) << o.modelPath << int64_t(model != nullptr)
       << (model ? model->getBuffer() : o.modelBytes);
  key = hash.text();
  if (model)
    modelDigest = digest(*model);
}

std::string ArtifactCache::path(StringRef name) const { return cachePath(options.cacheDir, name); }

std::string ArtifactCache::modelFolder() const {
  if (options.modelPath.empty())
    return options.modelFolder + "/";
  StringRef parent = llvm::sys::path::parent_path(options.modelPath);
  return (parent.empty() ? "." : parent.str()) + "/";
}

std::string ArtifactCache::entryName(llvm::ArrayRef<External> files) const {
  ContentHash hash;
  hash << key;
  for (const auto &[name, digest] : files)
    hash << name << digest;
  return hash.text() + "-entry";
}

/// A cache key determines the bytes of the model, and therefore the list of the model's external
/// files. The file KEY-names contains this list. The name of the cache entry also includes a hash
/// of the contents of the external files.
std::optional<std::string> ArtifactCache::findEntry(CompileResult &result) const {
  std::optional<json::Value> names = key.empty() ? std::nullopt : readJSON(path(key + "-names"));
  json::Array *list = names ? names->getAsArray() : nullptr;
  if (!list)
    return std::nullopt;
  std::vector<External> files;
  for (const json::Value &value : *list) {
    std::string name = value.getAsString().value_or("").str(), why;
    std::unique_ptr<llvm::MemoryBuffer> file = openInside(modelFolder(), name, why);
    if (!file)
      return std::nullopt;
    files.push_back({name, digest(*file)});
    result.inputs.push_back(modelFolder() + name);
  }
  return entryName(files);
}

/// Copies a file of the cached artifact to the output folder. Returns nullopt if the cache does not
/// contain the file, or contains it with other content.
std::optional<OutputFile> ArtifactCache::copyOut(const json::Object &file) const {
  StringRef name = llvm::sys::path::filename(file.getString("name").value_or(""));
  std::string digest = file.getString("digest").value_or("").str();
  llvm::SmallString<128> to(llvm::sys::path::parent_path(options.output));
  llvm::sys::path::append(to, name);
  llvm::Expected<OutputFile> copy = OutputFile::create(to, file.getBoolean("executable").value_or(false));
  if (!copy) {
    consumeError(copy.takeError());
    return std::nullopt;
  }
  ContentHash hash;
  if (llvm::Error error = copy->append(path(digest), [&](StringRef bytes) { hash.append(bytes); })) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  if (hash.text() != digest)
    return std::nullopt;
  return std::move(*copy);
}

bool ArtifactCache::restore(CompileResult &result, Diagnostics &diagnostics) {
  std::optional<std::string> name = findEntry(result);
  std::optional<json::Value> read = name ? readJSON(path(*name)) : std::nullopt;
  json::Object *entry = read ? read->getAsObject() : nullptr;
  json::Array *files = entry ? entry->getArray("files") : nullptr,
              *warnings = entry ? entry->getArray("warnings") : nullptr;
  if (!files || !warnings)
    return false;
  std::vector<OutputFile> copies;
  for (const json::Value &value : *files) {
    const json::Object *file = value.getAsObject();
    std::optional<OutputFile> copy = file ? copyOut(*file) : std::nullopt;
    if (!copy)
      // the cached file was pruned or is damaged: the caller compiles and stores it again
      return false;
    copies.push_back(std::move(*copy));
  }
  if (llvm::Error error = publish(options, copies, result)) {
    // returns without a message: an error that is not specific to the cache is reported by the
    // compile
    consumeError(std::move(error));
    return false;
  }
  for (json::Value &value : *warnings)
    if (json::Object *warning = value.getAsObject())
      diagnostics.report(messageFrom(*warning));
  result.name = entry->getString("name").value_or("").str();
  result.weightsBytes = entry->getInteger("weightsBytes").value_or(0);
  result.numKernels = entry->getInteger("numKernels").value_or(0);
  return true;
}

/// Stores a copy of the file in the cache, under the hash of its content. Returns nullopt on
/// failure.
std::optional<json::Object> ArtifactCache::copyIn(const OutputFile &file) const {
  ContentHash hash;
  llvm::Error error = file.read([&](StringRef bytes) { hash.append(bytes); });
  std::string digest = hash.text();
  if (!error) {
    llvm::Expected<OutputFile> copy = OutputFile::create(path(digest));
    error = copy.takeError();
    if (!error)
      error = file.read([&](StringRef bytes) { copy->stream() << bytes; });
    if (!error)
      error = publishAll(*copy, /*durable=*/false);
  }
  if (error) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  return json::Object{{"name", llvm::sys::path::filename(file.path())},
                      {"digest", digest},
                      {"executable", file.path() == options.output && isLibrary}};
}

void ArtifactCache::keep(Session &session, llvm::ArrayRef<OutputFile> written, const CompileResult &result) {
  if (key.empty())
    return;
  std::vector<External> external;
  json::Array names, files, warnings;
  for (const auto &mapping : session.weights().mappedFiles()) {
    StringRef name = mapping->getBufferIdentifier();
    // If an external file changed during the compile, its hash may not be that of the compiled
    // content, so nothing is stored.
    if (changedSince(name.str(), began))
      return;
    if (name == options.modelPath) {
      if (digest(*mapping) != modelDigest)
        return;
      continue;
    }
    if (!name.consume_front(modelFolder()))
      return;
    external.push_back({name.str(), digest(*mapping)});
    names.push_back(name);
  }
  for (const OutputFile &file : written) {
    std::optional<json::Object> kept = copyIn(file);
    if (!kept)
      return;
    files.push_back(std::move(*kept));
  }
  for (const Message &message : session.diagnostics.messages())
    warnings.push_back(toJSON(message));
  // Writes the index entry last: a visible entry implies that its files exist.
  writeJSON(path(entryName(external)), json::Object{{"files", std::move(files)},
                                                    {"warnings", std::move(warnings)},
                                                    {"name", result.name},
                                                    {"weightsBytes", int64_t(result.weightsBytes)},
                                                    {"numKernels", int64_t(result.numKernels)}});
  writeJSON(path(key + "-names"), std::move(names));
}

} // namespace hewn
