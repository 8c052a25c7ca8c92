// SPDX-License-Identifier: Apache-2.0
//
// `hewn info`: collects the inputs, outputs and metadata of a model or artifact in a JSON record
// and prints the record as JSON or as text.
#include "hewn/runtime.h"
#include "lib/Codegen/Program/Program.h"
#include "lib/Importer/ONNX/Protos/ModelSummary.h"
#include "lib/Support/Files/InputFile.h"
#include "lib/Support/Printable.h"
#include "tools/hewn/Artifacts.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Json.h"
#include "tools/hewn/Pages/Page.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

static cl::opt<std::string> described(cl::Positional, cl::Required,
                                      cl::value_desc("model.onnx|libmodel.so|model.a|model.o"), cl::sub(infoCommand()));

//===------------------------------------------------------------------------------------------===//
// The record
//===------------------------------------------------------------------------------------------===//

static json::Object recordOf(const importer::ModelSummary::Value &value) {
  json::Value shape = nullptr;
  if (value.dims) {
    json::Array dims;
    for (const importer::ModelSummary::Dim &dim : *value.dims)
      dims.push_back(dim.size ? json::Value(*dim.size) : dim.name.empty() ? json::Value(nullptr) : jsonText(dim.name));
    shape = std::move(dims);
  }
  json::Object record{{"name", jsonText(value.name)},
                      {"kind", value.kind},
                      {"type", codegen::elementTypeName(value.elementType)},
                      {"shape", std::move(shape)}};
  if (value.keyType)
    record["keys"] = codegen::elementTypeName(value.keyType);
  return record;
}

static json::Object recordOf(const importer::ModelSummary &summary) {
  json::Object opsets, ops;
  for (const auto &[domain, version] : summary.opsets)
    opsets[domain.empty() ? "ai.onnx" : json::fixUTF8(domain)] = version;
  for (const auto &[op, count] : summary.ops)
    ops[json::fixUTF8(op)] = int64_t(count);
  json::Array inputs, outputs, dims;
  std::vector<std::string> open;
  for (const importer::ModelSummary::Value &input : summary.inputs) {
    inputs.push_back(recordOf(input));
    for (const importer::ModelSummary::Dim &dim : input.dims.value_or(std::vector<importer::ModelSummary::Dim>()))
      if (!dim.size && !llvm::is_contained(open, dim.name))
        open.push_back(dim.name);
  }
  for (const std::string &name : open)
    dims.push_back(json::Object{{"name", jsonText(name)}, {"min", nullptr}, {"max", nullptr}});
  for (const importer::ModelSummary::Value &output : summary.outputs)
    outputs.push_back(recordOf(output));
  json::Array files;
  for (const std::string &file : summary.files)
    files.push_back(jsonText(file));
  return json::Object{{"kind", "model"},
                      {"ir_version", summary.irVersion},
                      {"producer", jsonText(summary.producer)},
                      {"producer_version", jsonText(summary.producerVersion)},
                      {"graph", jsonText(summary.graph)},
                      {"opsets", std::move(opsets)},
                      {"nodes", int64_t(summary.nodes)},
                      {"ops", std::move(ops)},
                      {"inputs", std::move(inputs)},
                      {"outputs", std::move(outputs)},
                      {"dims", std::move(dims)},
                      {"weights", json::Object{{"initializers", int64_t(summary.initializers)},
                                               {"constants", int64_t(summary.constants)},
                                               {"bytes", summary.weightBytes},
                                               {"external", !summary.files.empty()},
                                               {"files", std::move(files)}}}};
}

/// Returns the state of the weights file in the folder of the artifact: "found", "missing", or
/// "other" (the weights of another model).
static StringRef stateOfWeights(const std::string &artifact, const json::Object &weights) {
  // The description is untrusted, so only the file name in it is used, without its folders.
  StringRef name = llvm::sys::path::filename(weights.getString("file").value_or(""));
  llvm::SmallString<128> path(llvm::sys::path::parent_path(artifact));
  llvm::sys::path::append(path, name);
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> file = openRegular(path, why);
  if (!file)
    return "missing";
  StringRef bytes = file->getBuffer(), digest = weights.getString("digest").value_or("");
  bool isOurs = bytes.size() >= sizeof(hewn_weights_header) && bytes.starts_with("HEWNW") &&
                bytes.substr(offsetof(hewn_weights_header, digest), digest.size()) == digest;
  return isOurs ? "found" : "other";
}

/// Fills `record` with the inputs, outputs and metadata of the file. Returns false after printing
/// an error.
static bool describe(const std::string &path, json::Object &record) {
  std::string why;
  std::unique_ptr<llvm::MemoryBuffer> file = openRegular(path, why);
  if (!file)
    return printError("can't read " + path + ": " + why);
  if (isArtifact(file->getBuffer())) {
    llvm::Expected<ArtifactDescription> artifact = describeArtifact(*file);
    if (!artifact)
      // The error may quote unprintable bytes of the file.
      return printError(printable(path + ": " + llvm::toString(artifact.takeError())));
    json::Array models;
    for (json::Object &model : artifact->models) {
      if (json::Object *weights = model.getObject("weights"); weights && weights->getString("file"))
        (*weights)["state"] = stateOfWeights(path, *weights);
      models.push_back(std::move(model));
    }
    record =
        json::Object{{"kind", artifact->kind}, {"architecture", artifact->architecture}, {"models", std::move(models)}};
  } else {
    Diagnostics diagnostics;
    std::optional<importer::ModelSummary> summary = importer::summarizeModel(path, diagnostics);
    diagnostics.print(llvm::errs());
    if (!summary)
      return false;
    record = recordOf(*summary);
  }
  record["bytes"] = uint64_t(file->getBufferSize());
  llvm::SHA256 hash;
  hash.update(file->getBuffer());
  record["sha256"] = llvm::toHex(hash.final(), /*LowerCase=*/true);
  return true;
}

//===------------------------------------------------------------------------------------------===//
// Text output. The record may come from an untrusted file: missing members and members of another
// type are skipped.
//===------------------------------------------------------------------------------------------===//

static std::string printableOf(const json::Object &object, StringRef key) {
  return printable(object.getString(key).value_or(""));
}

template <typename Visit> static void each(const json::Object &object, StringRef key, Visit visit) {
  if (const json::Array *list = object.getArray(key))
    for (const json::Value &value : *list)
      visit(value);
}

static void printTensors(const json::Object &model, StringRef key, StringRef indent) {
  if (const json::Array *list = model.getArray(key); !list || list->empty())
    return;
  llvm::outs() << indent << key << "\n";
  each(model, key, [&](const json::Value &value) {
    const json::Object *tensor = value.getAsObject();
    if (!tensor)
      return;
    llvm::SmallVector<std::string> dims;
    each(*tensor, "shape", [&](const json::Value &dim) {
      std::optional<int64_t> size = dim.getAsInteger();
      dims.push_back(size ? std::to_string(*size) : dim.getAsString() ? printable(*dim.getAsString()) : "?");
    });
    std::string kind = printableOf(*tensor, "kind");
    llvm::outs() << indent << "  " << printableOf(*tensor, "name") << ": " << (kind == "tensor" ? "" : kind + " of ");
    if (tensor->getString("keys"))
      llvm::outs() << printableOf(*tensor, "keys") << " to " << printableOf(*tensor, "type") << "\n";
    else
      llvm::outs() << printableOf(*tensor, "type")
                   << (tensor->getArray("shape") ? "[" + llvm::join(dims, ", ") + "]" : " of any rank") << "\n";
  });
}

static void printDims(const json::Object &model, StringRef indent) {
  if (const json::Array *list = model.getArray("dims"); !list || list->empty())
    return;
  llvm::outs() << indent << "dynamic dims\n";
  each(model, "dims", [&](const json::Value &value) {
    const json::Object *dim = value.getAsObject();
    if (!dim)
      return;
    llvm::outs() << indent << "  " << printableOf(*dim, "name");
    std::optional<int64_t> min = dim->getInteger("min"), max = dim->getInteger("max");
    if (min && max)
      llvm::outs() << ": " << *min << ".." << *max;
    else if (min)
      llvm::outs() << ": at least " << *min;
    llvm::outs() << "\n";
  });
}

/// Prints the model's metadata, one line an entry. Long values are shortened.
static void printMetadata(const json::Object &model) {
  const json::Object *entries = model.getObject("metadata");
  if (!entries || entries->empty())
    return;
  constexpr size_t kLongest = 70;
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto &[key, value] : *entries) {
    std::string text = printable(value.getAsString().value_or(""));
    bool isLong = text.size() > kLongest;
    lines.push_back({printable(key), isLong ? printable(StringRef(text).take_front(kLongest)) + "..." : text});
  }
  llvm::sort(lines);
  llvm::outs() << "  metadata\n";
  for (const auto &[key, value] : lines)
    llvm::outs() << "    " << key << ": " << value << "\n";
}

static void printArtifact(const json::Object &model) {
  llvm::SmallVector<std::string> variants;
  each(model, "variants",
       [&](const json::Value &one) { variants.push_back(printable(one.getAsString().value_or(""))); });
  // The name "host" does not say for which CPU the code was compiled.
  if (const json::Array *cpus = model.getArray("cpus"))
    for (auto [variant, cpu] : llvm::zip(variants, *cpus))
      if (variant == "host" && cpu.getAsString())
        variant = printable(*cpu.getAsString());
  llvm::outs() << "model " << printableOf(model, "name") << ", compiled by hewn " << printableOf(model, "hewn")
               << " for " << printableOf(model, "target") << " (" << llvm::join(variants, ", ") << ")\n  digest "
               << printableOf(model, "digest") << "\n";
  printTensors(model, "inputs", "  ");
  printTensors(model, "outputs", "  ");
  printDims(model, "  ");
  printMetadata(model);
  each(model, "cases", [&](const json::Value &value) {
    if (const json::Object *one = value.getAsObject())
      llvm::outs() << "  specialized code for " << printableOf(*one, "condition")
                   << (one->getString("refusal") ? ": none, " + printableOf(*one, "refusal") : "") << "\n";
  });
  const json::Object *weights = model.getObject("weights");
  if (std::optional<int64_t> ranks = model.getInteger("ranks"); ranks && *ranks > 0) {
    llvm::outs() << "  split over " << *ranks << " ranks";
    if (model.getString("partition"))
      llvm::outs() << " (" << printableOf(model, "partition") << ")";
    const char *comma = ", weights by rank: ";
    if (weights)
      each(*weights, "bytes_by_rank", [&](const json::Value &bytes) {
        llvm::outs() << std::exchange(comma, ", ") << bytesText(bytes.getAsNumber().value_or(0));
      });
    llvm::outs() << "\n";
  }
  if (!weights)
    return;
  std::string state = printableOf(*weights, "state");
  llvm::outs() << "  weights: " << bytesText(weights->getNumber("bytes").value_or(0));
  if (weights->getString("file"))
    llvm::outs() << " in " << printableOf(*weights, "file")
                 << (state == "missing" ? " (file not found)"
                     : state == "other" ? " (the file has the weights of another model)"
                                        : "");
  else
    llvm::outs() << " embedded";
  llvm::outs() << ", digest " << printableOf(*weights, "digest") << "\n";
}

static void printModel(const json::Object &record) {
  const json::Object empty, *opsets = record.getObject("opsets"), *ops = record.getObject("ops"),
                            *weights = record.getObject("weights");
  std::vector<std::string> versions;
  for (const auto &[domain, version] : opsets ? *opsets : empty)
    versions.push_back(printable(domain) + " " + std::to_string(version.getAsInteger().value_or(0)));
  llvm::sort(versions);
  std::vector<std::pair<int64_t, std::string>> counts;
  for (const auto &[op, count] : ops ? *ops : empty)
    counts.push_back({-count.getAsInteger().value_or(0), printable(op)});
  llvm::sort(counts);
  std::string producer = printableOf(record, "producer"), version = printableOf(record, "producer_version");
  llvm::outs() << "ONNX, IR version " << record.getInteger("ir_version").value_or(0)
               << ", opsets: " << llvm::join(versions, ", ");
  if (!producer.empty())
    llvm::outs() << "; produced by " << producer << (version.empty() ? "" : " " + version);
  llvm::outs() << "\n";
  printTensors(record, "inputs", "");
  printTensors(record, "outputs", "");
  printDims(record, "");
  llvm::outs() << "nodes: " << record.getInteger("nodes").value_or(0);
  for (auto [i, entry] : llvm::enumerate(counts))
    llvm::outs() << (i ? ", " : " (") << -entry.first << " " << entry.second;
  llvm::outs() << (counts.empty() ? "\n" : ")\n");
  if (weights)
    llvm::outs() << "weights: " << bytesText(weights->getNumber("bytes").value_or(0)) << " in "
                 << countedText(weights->getInteger("initializers").value_or(0), "initializer") << " and "
                 << countedText(weights->getInteger("constants").value_or(0), "Constant node")
                 << (weights->getBoolean("external").value_or(false) ? ", some in other files" : "") << "\n";
}

int infoMain() {
  json::Object record;
  if (!describe(described, record))
    return 1;
  if (wantsJson()) {
    printRecord("info", described, std::move(record));
    return 0;
  }
  std::string kind = printableOf(record, "kind"), architecture = printableOf(record, "architecture");
  llvm::outs() << printable(described) << ": " << kind << (architecture.empty() ? "" : " for " + architecture) << ", "
               << bytesText(record.getNumber("bytes").value_or(0)) << "\n";
  if (kind == "model")
    printModel(record);
  else
    each(record, "models", [](const json::Value &model) {
      if (const json::Object *object = model.getAsObject())
        printArtifact(*object);
    });
  llvm::outs() << "sha256 " << printableOf(record, "sha256") << "\n";
  return 0;
}

} // namespace hewn::tool
