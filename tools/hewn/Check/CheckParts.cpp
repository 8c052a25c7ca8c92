// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Check/CheckParts.h"

#include "lib/Importer/ONNX/Importer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace hewn::tool {

/// Number of runs with perturbed inputs and weights, and size of the perturbation in steps of the
/// element type.
static constexpr unsigned kMoves = 3;
static constexpr double kMovedSteps = 4;
/// Maximum number of bytes of weights that are perturbed, because perturbed weights are copied.
static constexpr int64_t kMaxMoved = int64_t(512) << 20;

bool Judgement::differs() const {
  return llvm::any_of(found, [](const auto &one) { return one.second.kind == Difference::Kind::Differs; });
}

std::string Judgement::first(const Names &order) const {
  for (const std::string &name : order)
    if (auto one = found.find(name); one != found.end() && one->second.kind == Difference::Kind::Differs)
      return name;
  return "";
}

Parts::Parts(const ModelGraph &graph, const CompileFlags &flags, const Tolerance &tolerance, const Values *given,
             uint64_t seed)
    : model(graph), flags(flags), tolerance(tolerance), given(given), seed(seed) {}

//===------------------------------------------------------------------------------------------===//
// Parts
//===------------------------------------------------------------------------------------------===//

ModelGraph::Part Parts::whole(Names outputs) const {
  ModelGraph::Part part;
  for (size_t i = 0; i < model.nodes().size(); ++i)
    part.nodes.push_back(int(i));
  part.outputs = std::move(outputs);
  return part;
}

bool Parts::canGive(const std::string &value) const {
  const ValueInfo *form = info(value);
  return form && form->isTensor && isStorable(form->type) && (!given || given->count(value));
}

/// Returns ONNX's number of an element type that .npy files can hold.
static int onnxType(DLDataType type) {
  if (type.code == HEWN_DL_BOOL)
    return 9;
  if (type.code == kDLBfloat)
    return 16;
  if (type.code == kDLFloat)
    return type.bits == 32 ? 1 : type.bits == 64 ? 11 : 10;
  bool isSigned = type.code == kDLInt;
  switch (type.bits) {
  case 8:
    return isSigned ? 3 : 2;
  case 16:
    return isSigned ? 5 : 4;
  case 32:
    return isSigned ? 6 : 12;
  default:
    return isSigned ? 7 : 13;
  }
}

ModelGraph::Part Parts::cut(const std::set<int> &chosen, Names outputs, bool cutsFixed) const {
  std::set<int> nodes;
  std::set<std::string> fed, seen;
  std::vector<std::string> wanted(outputs.begin(), outputs.end());
  while (!wanted.empty()) {
    std::string value = std::move(wanted.back());
    wanted.pop_back();
    if (!seen.insert(value).second)
      continue;
    int maker = model.maker(value);
    if (maker < 0) {
      if (llvm::is_contained(model.inputs(), value))
        fed.insert(value);
    } else if (chosen.count(maker) || (model.isFixed(value) && !cutsFixed) || !canGive(value)) {
      // Nodes that compute dims stay in the subgraph: if it had their results as inputs, dims that
      // are known at compile time would become dynamic.
      nodes.insert(maker);
      llvm::append_range(wanted, model.nodes()[size_t(maker)].inputs);
    } else {
      fed.insert(value);
    }
  }
  ModelGraph::Part part;
  part.nodes.assign(nodes.begin(), nodes.end());
  part.outputs = std::move(outputs);
  for (const std::string &name : fed)
    if (const ValueInfo *form = info(name); form && form->isTensor && isStorable(form->type))
      part.feeds.push_back({name, onnxType(form->type), form->dims});
    else
      part.feeds.push_back({name, 0, {}}); // an input of the model keeps its declared type and dims
  return part;
}

CompileFlags Parts::flagsFor(const ModelGraph::Part &part, bool naive) const {
  CompileFlags own = flags;
  own.naive = naive;
  if (naive) { // the reference runs in float32 on the host and uses no schedules
    own.target = "host";
    own.tunings.clear();
  }
  if (!part.feeds.empty())
    llvm::erase_if(own.dims, [&](const std::string &binding) {
      llvm::StringRef name = importer::dimNameOf(binding);
      return llvm::none_of(part.feeds, [&](const ModelGraph::Feed &feed) {
        return llvm::any_of(feed.dims, [&](const std::string &dim) { return dim == name; });
      });
    });
  return own;
}

std::unique_ptr<Loaded> Parts::compile(const ModelGraph::Part &part, bool naive, unsigned move,
                                       std::string &problem) const {
  std::mt19937_64 random(seed + move);
  int64_t left = kMaxMoved;
  auto change = [&](int type, llvm::MutableArrayRef<char> bytes) {
    DLDataType element = {uint8_t(type == 16 ? kDLBfloat : kDLFloat),
                          uint8_t(type == 11  ? 64
                                  : type == 1 ? 32
                                              : 16),
                          1};
    left -= int64_t(bytes.size());
    if (left >= 0)
      moveElements(element, bytes.data(), int64_t(bytes.size()) / (element.bits / 8),
                   kMovedSteps * stepOf(element, tolerance), random);
  };
  std::string bytes;
  ModelGraph::Change asked = nullptr;
  if (move)
    asked = change;
  if (!model.serialize(part, /*whole=*/false, asked, bytes, problem))
    return nullptr;
  CompileJob job;
  job.bytes = bytes;
  job.folder = model.folder();
  job.name = "model";
  return Loaded::compile(job, flagsFor(part, naive), llvm::errs(), &problem);
}

hewn_status Parts::run(Loaded &loaded, const Values &feeds, unsigned move, Values &results) const {
  const hewn_model &made = loaded.model();
  std::mt19937_64 random(seed + move);
  std::vector<Array> inputs(size_t(made.num_inputs)), outputs;
  for (int i = 0; i < made.num_inputs; ++i) {
    auto found = feeds.find(made.inputs[i].name);
    if (found != feeds.end())
      inputs[size_t(i)] = found->second;
    Array &array = inputs[size_t(i)];
    if (move)
      moveElements(array.type, array.bytes.data(), array.elements(), kMovedSteps * stepOf(array.type, tolerance),
                   random);
  }
  hewn_status status = loaded.tryRun(inputs, outputs);
  for (int i = 0; status.code == HEWN_OK && i < made.num_outputs; ++i)
    if (made.outputs[i].kind == HEWN_KIND_TENSOR && made.outputs[i].dtype.code != kDLOpaqueHandle)
      results[made.outputs[i].name] = std::move(outputs[size_t(i)]);
  return status;
}

//===------------------------------------------------------------------------------------------===//
// Known values
//===------------------------------------------------------------------------------------------===//

void Parts::learn(const Loaded &loaded) {
  const hewn_model &made = loaded.model();
  auto add = [&](const hewn_tensor_info &info) {
    ValueInfo form{info.dtype, {}, info.kind == HEWN_KIND_TENSOR && info.dtype.code != kDLOpaqueHandle};
    for (int d = 0; d < info.rank; ++d) {
      int64_t dim = info.dims[d];
      if (dim >= 0)
        form.dims.push_back(std::to_string(dim));
      else if (dim == HEWN_DIM_FORMULA)
        form.dims.push_back(info.formulas && info.formulas[d] ? info.formulas[d] : "");
      else
        form.dims.push_back(dim == HEWN_DIM_DYNAMIC ? "" : made.symbols[-1 - dim].name);
    }
    // A map, which the model has under this name, is no tensor.
    if (llvm::StringRef name = info.name; info.role == HEWN_ROLE_MAP_VALUES)
      infos[name.rsplit('_').first.str()] = {info.dtype, {}, false};
    infos[info.name] = std::move(form);
  };
  for (int i = 0; i < made.num_inputs; ++i)
    add(made.inputs[i]);
  for (int i = 0; i < made.num_outputs; ++i)
    add(made.outputs[i]);
}

const ValueInfo *Parts::info(const std::string &value) const {
  auto found = infos.find(value);
  return found == infos.end() ? nullptr : &found->second;
}

void Parts::know(Values more) {
  for (auto &[name, array] : more)
    naive[name] = std::move(array);
}

const Array *Parts::known(const std::string &value) const {
  for (const Values *values : {given, &naive})
    if (values)
      if (auto found = values->find(value); found != values->end())
        return &found->second;
  return nullptr;
}

bool Parts::feedsOf(const ModelGraph::Part &part, Values &feeds, std::string &problem) {
  Names names(model.inputs()), missing;
  for (const ModelGraph::Feed &feed : part.feeds)
    names.push_back(feed.name);
  for (const std::string &name : names) {
    if (const Array *array = known(name))
      feeds[name] = *array;
    else if (model.maker(name) >= 0)
      missing.push_back(name);
  }
  if (missing.empty())
    return true;
  std::unique_ptr<Loaded> reference = compile(whole(missing), /*naive=*/true, 0, problem);
  if (!reference)
    return false;
  Values inputs = feeds;
  hewn_status status = run(*reference, inputs, 0, feeds);
  if (status.code != HEWN_OK)
    problem = status.message;
  return problem.empty();
}

//===------------------------------------------------------------------------------------------===//
// Comparison
//===------------------------------------------------------------------------------------------===//

/// Compares the values `names` again, with error bounds from perturbed runs of the subgraph.
void Parts::addSpreads(const ModelGraph::Part &part, const Values &feeds, const Names &names, const Values &wanted,
                       const Values &got, Judgement &judgement) const {
  std::map<std::string, Spread> spreads;
  ModelGraph::Part narrow = part;
  narrow.outputs = names;
  for (unsigned move = 1; move <= kMoves; ++move) {
    std::string why;
    Values moved;
    std::unique_ptr<Loaded> loaded = compile(narrow, /*naive=*/true, move, why);
    if (hewn_status status = loaded ? run(*loaded, feeds, move, moved) : hewn_status(); status.code != HEWN_OK)
      why = status.message;
    if (!why.empty()) {
      judgement.refusedMoves.push_back(why);
      continue;
    }
    for (const std::string &name : names)
      spreads[name].add(moved[name], wanted.at(name));
  }
  for (const std::string &name : names)
    if (auto spread = spreads.find(name); spread != spreads.end())
      judgement.found[name] =
          compare(got.at(name), given ? given->at(name) : wanted.at(name), tolerance, &spread->second);
}

std::optional<Judgement> Parts::judge(const ModelGraph::Part &part, const Values &feeds, const Values &got,
                                      std::string &problem) {
  std::unique_ptr<Loaded> reference;
  auto runReference = [&](Values &results) {
    if (!reference)
      reference = compile(part, /*naive=*/true, 0, problem);
    if (!reference)
      return false;
    hewn_status status = run(*reference, feeds, 0, results);
    if (status.code != HEWN_OK)
      problem = status.message;
    return status.code == HEWN_OK;
  };
  bool isKnown = part.feeds.empty() && llvm::all_of(part.outputs, [&](const std::string &name) {
                   return naive.count(name) || !got.count(name);
                 });
  Values own;
  if (!isKnown && !runReference(own))
    return std::nullopt;
  bool keeps = keepsAll && part.feeds.empty() && !isKnown;
  if (keeps)
    know(std::move(own));
  const Values &wanted = isKnown || keeps ? naive : own;
  Judgement judgement;
  Names suspects;
  for (const std::string &name : part.outputs) {
    if (!got.count(name) || !wanted.count(name) || (given && !given->count(name)))
      continue;
    judgement.found[name] = compare(got.at(name), given ? given->at(name) : wanted.at(name), tolerance);
    if (judgement.found[name].kind != Difference::Kind::Differs)
      continue;
    suspects.push_back(name);
    if (given)
      judgement.asNaive[name] = compare(got.at(name), wanted.at(name), tolerance).kind == Difference::Kind::None;
  }
  if (suspects.empty())
    return judgement;
  // A value that changes between two runs of the reference is random. If the values of the
  // reference were stored before, the first of these runs repeats the initial state of the random
  // generators.
  Values again;
  if ((isKnown && !runReference(again)) || !runReference(again))
    return std::nullopt;
  llvm::erase_if(suspects, [&](const std::string &name) {
    if (again[name].bytes == wanted.at(name).bytes)
      return false;
    judgement.found.erase(name);
    judgement.random.insert(name);
    return true;
  });
  if (!tolerance.relative && !suspects.empty())
    addSpreads(part, feeds, suspects, wanted, got, judgement);
  return judgement;
}

std::optional<Judgement> Parts::judgeLoaded(const ModelGraph::Part &part, Loaded &loaded, const Values &feeds,
                                            std::string &problem) {
  Values got;
  hewn_status status = run(loaded, feeds, 0, got);
  if (status.code == HEWN_OK)
    return judge(part, feeds, got, problem);
  problem = status.message;
  return std::nullopt;
}

std::optional<Judgement> Parts::judge(const ModelGraph::Part &part, std::string &problem) {
  Values feeds;
  if (!feedsOf(part, feeds, problem))
    return std::nullopt;
  std::unique_ptr<Loaded> optimized = compile(part, /*naive=*/false, 0, problem);
  return optimized ? judgeLoaded(part, *optimized, feeds, problem) : std::nullopt;
}

std::optional<Judgement> Parts::judgeWritten(const ModelGraph::Part &part, const std::string &bytes,
                                             const Values &feeds, std::string &problem) {
  CompileJob job;
  job.bytes = bytes;
  job.name = "model";
  std::unique_ptr<Loaded> loaded = Loaded::compile(job, flagsFor(part, /*naive=*/false), llvm::errs(), &problem);
  return loaded ? judgeLoaded(part, *loaded, feeds, problem) : std::nullopt;
}

} // namespace hewn::tool
