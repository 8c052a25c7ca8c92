// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Stages/StageWeights.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Printable.h"
#include "lib/Support/WeightsFile.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using llvm::Error;

namespace hewn {

static SmallVector<graph::WeightAttr> weightsIn(ModuleOp module) {
  llvm::SetVector<graph::WeightAttr> found;
  module.walk([&](graph::ConstantOp constant) {
    if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
      found.insert(weight);
  });
  return found.takeVector();
}

SmallVector<StringRef> missingWeights(ModuleOp module) {
  const WeightStore &store = graph::weightsOf(module.getContext());
  SmallVector<StringRef> keys;
  for (graph::WeightAttr weight : weightsIn(module))
    if (!store.find(weight.getKey()))
      keys.push_back(weight.getKey());
  llvm::sort(keys);
  keys.erase(llvm::unique(keys), keys.end());
  return keys;
}

Error loadWeights(ModuleOp module, StringRef path) {
  WeightStore &store = graph::weightsOf(module.getContext());
  if (Error error = readWeights(path, store))
    return error;
  for (graph::WeightAttr weight : weightsIn(module)) {
    std::optional<ArrayRef<char>> bytes = store.find(weight.getKey());
    uint64_t begin = uint64_t(weight.getOffset()), size = uint64_t(weight.getBytes());
    if (bytes && (begin > bytes->size() || size > bytes->size() - begin))
      return llvm::createStringError("'" + path + "' has " + llvm::Twine(bytes->size()) + " bytes for '" +
                                     printable(weight.getKey()) + "', and a constant refers to " + llvm::Twine(size) +
                                     " bytes from " + llvm::Twine(begin));
  }
  return Error::success();
}

Error saveWeights(ModuleOp module, StringRef path) {
  auto keys = llvm::map_to_vector(weightsIn(module), [](graph::WeightAttr weight) { return weight.getKey(); });
  llvm::Expected<OutputFile> file = writeWeights(path, keys, graph::weightsOf(module.getContext()));
  return file ? publishAll(*file, /*durable=*/false) : file.takeError();
}

} // namespace hewn
