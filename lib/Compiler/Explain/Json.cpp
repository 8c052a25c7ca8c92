// SPDX-License-Identifier: Apache-2.0
//
// Writes the explanation as JSON (docs/reference/json.md).
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Support/JsonWriter.h"

namespace json = llvm::json;

namespace hewn {

static json::Value orNull(std::optional<int64_t> number) {
  return number ? json::Value(*number) : json::Value(nullptr);
}

/// Converts a list to a JSON array: calls `each` to convert an element.
template <typename T, typename Each> static json::Array listOf(const std::vector<T> &all, Each each) {
  json::Array list;
  for (const T &one : all)
    list.push_back(each(one));
  return list;
}

static json::Object toJson(const ExplainedKernel &kernel) {
  std::optional<int64_t> flop, bytes;
  json::Value flopFormula = nullptr, bytesFormula = nullptr;
  auto orNone = [](const std::string &name) { return name.empty() ? json::Value(nullptr) : jsonText(name); };
  if (kernel.work && kernel.work->isConstant()) {
    flop = kernel.work->flop.constant();
    bytes = kernel.work->bytes.constant();
  } else if (kernel.work) {
    flopFormula = jsonText(kernel.work->flop.str());
    bytesFormula = jsonText(kernel.work->bytes.str());
  }
  return json::Object{
      {"name", jsonText(kernel.name)},
      {"why", jsonText(kernel.why)},
      {"schedule", jsonText(kernel.schedule)},
      {"tuning_key", orNone(kernel.tuningKey)},
      {"candidates", listOf(kernel.candidates, jsonText)},
      {"launches", kernel.launches},
      {"launches_per_run", orNull(kernel.launchesARun)},
      {"flop", orNull(flop)},
      {"bytes", orNull(bytes)},
      {"flop_formula", std::move(flopFormula)},
      {"bytes_formula", std::move(bytesFormula)},
      {"constant_bytes", orNull(kernel.constantBytes)},
      {"multiplies", orNone(kernel.multiplies)},
      {"nodes", listOf(kernel.nodes, jsonText)},
      {"launch_nodes", listOf(kernel.launchNodes, [](const auto &names) { return listOf(names, jsonText); })},
      {"inputs", listOf(kernel.inputs, jsonText)},
      {"constants", listOf(kernel.constants, jsonText)},
      {"outputs", listOf(kernel.outputs, jsonText)}};
}

static json::Object toJson(const ExplainedGraph::Value &value) {
  auto dim = [](const std::string &text) {
    int64_t size;
    return llvm::StringRef(text).getAsInteger(10, size) ? jsonText(text) : json::Value(size);
  };
  return json::Object{
      {"type", jsonText(value.type)},
      {"element_type", jsonText(value.elementType)},
      {"shape", value.elementType.empty() ? json::Value(nullptr) : json::Value(listOf(value.dims, dim))},
      {"layout", value.layout.empty() ? json::Value(nullptr) : jsonText(value.layout)},
      {"constant", value.isConstant},
      {"weight", value.constant.empty() ? json::Value(nullptr) : jsonText(value.constant)}};
}

static json::Object toJson(const ExplainedGraph::Body &body) {
  auto step = [](const ExplainedGraph::Step &one) {
    json::Object made{{"op", one.op},
                      {"view", one.isView},
                      {"nodes", listOf(one.nodes, jsonText)},
                      {"inputs", json::Array(one.inputs)},
                      {"outputs", json::Array(one.outputs)}};
    if (!one.kernel.empty()) {
      made["kernel"] = jsonText(one.kernel);
      made["launch"] = one.launch;
    }
    if (!one.bodies.empty())
      made["bodies"] = listOf(one.bodies, [](const auto &inner) { return toJson(inner); });
    return made;
  };
  return json::Object{{"arguments", json::Array(body.arguments)},
                      {"results", json::Array(body.results)},
                      {"steps", listOf(body.steps, step)}};
}

static json::Value toJson(const std::optional<ExplainedGraph> &graph) {
  if (!graph)
    return nullptr;
  json::Object made = toJson(graph->program);
  made["values"] = listOf(graph->values, [](const auto &value) { return toJson(value); });
  made["input_names"] = listOf(graph->inputNames, jsonText);
  made["output_names"] = listOf(graph->outputNames, jsonText);
  return made;
}

static json::Array toJson(const llvm::StringMap<ExplainedNode> &nodes) {
  std::vector<const llvm::StringMapEntry<ExplainedNode> *> sorted;
  for (const auto &entry : nodes)
    sorted.push_back(&entry);
  llvm::sort(sorted, [](const auto *a, const auto *b) { return a->second.number < b->second.number; });
  return listOf(sorted, [](const auto *entry) {
    return json::Object{{"name", jsonText(entry->getKey())},
                        {"op", jsonText(entry->second.op)},
                        {"inputs", listOf(entry->second.inputs, jsonText)},
                        {"outputs", listOf(entry->second.outputs, jsonText)}};
  });
}

static json::Object toJson(const ExplainedArena::Size &size) {
  json::Object symbols;
  for (const auto &[name, value] : size.symbols)
    symbols[json::isUTF8(name) ? name : json::fixUTF8(name)] = value;
  return json::Object{{"dims", std::move(symbols)}, {"bytes", size.bytes}, {"live_bytes", size.live}};
}

static json::Object toJson(const ExplainedArena &arena) {
  auto block = [](const ExplainedArena::Block &one) {
    return json::Object{{"begin", one.begin},
                        {"end", one.end},
                        {"offset", one.offset},
                        {"bytes", one.bytes},
                        {"kernel", jsonText(one.kernel)},
                        {"node", one.node.empty() ? json::Value(nullptr) : jsonText(one.node)},
                        {"values", listOf(one.values, jsonText)},
                        {"type", jsonText(one.type)}};
  };
  auto row = [](const ExplainedArena::Row &one) {
    return json::Object{{"name", jsonText(one.name)}, {"position", one.position}, {"live_bytes", one.live}};
  };
  json::Object made{{"formula", jsonText(arena.formula)},
                    {"levels", listOf(arena.levels, jsonText)},
                    {"sizes", listOf(arena.sizes, [](const auto &size) { return toJson(size); })}};
  if (!arena.sizes.empty())
    made["layout"] = json::Object{
        {"at", toJson(arena.pictured)}, {"blocks", listOf(arena.blocks, block)}, {"ops", listOf(arena.rows, row)}};
  return made;
}

static json::Object toJson(const ExplainedTime &time) {
  auto persistent = [](const ExplainedTime::PersistentKernel &one) {
    return json::Object{{"first_kernel", jsonText(one.first)},
                        {"launches", one.launches},
                        {"threads", one.threads},
                        {"registers", one.registers},
                        {"blocks_at_once", one.blocksAtOnce},
                        {"kept_bytes", one.keptBytes},
                        {"launched_microseconds", jsonNumber(one.launchedMicroseconds)},
                        {"joined_microseconds", jsonNumber(one.joinedMicroseconds)}};
  };
  return json::Object{{"microseconds", jsonNumber(time.microseconds)},
                      {"apart_microseconds", jsonNumber(time.apartMicroseconds)},
                      {"assumed_size", orNull(time.assumedSize)},
                      {"joint_kernels", listOf(time.joints, persistent)}};
}

static json::Object toJson(const ExplainedVariant &variant) {
  auto copy = [](const ExplainedVariant::Copy &one) { return json::Object{{"to", one.to}, {"type", one.type}}; };
  json::Object made{
      {"title", jsonText(variant.title)},
      {"kernels", variant.hasKernels
                      ? json::Value(listOf(variant.kernels, [](const auto &kernel) { return toJson(kernel); }))
                      : json::Value(nullptr)},
      {"graph", toJson(variant.graph)},
      {"launches", variant.launches},
      {"layout_changes", variant.relayouts},
      {"arenas", listOf(variant.arenas, [](const auto &arena) { return toJson(arena); })},
      {"copies", listOf(variant.copies, copy)},
      {"weights", json::Object{{"bytes", variant.weightBytes}, {"constants", variant.weightConstants}}}};
  if (variant.meetings) {
    made["meetings"] = *variant.meetings;
    made["moved_bytes"] = orNull(variant.moved.constant());
    made["moved_bytes_formula"] =
        variant.moved.constant() ? json::Value(nullptr) : json::Value(jsonText(variant.moved.str()));
  }
  if (variant.time)
    made["predicted"] = toJson(*variant.time);
  return made;
}

json::Object Explanation::json() const {
  auto stage = [](const auto &one) { return json::Object{{"stage", one.first}, {"seconds", one.second}}; };
  auto oneCase = [](const auto &one) {
    return json::Object{{"condition", jsonText(one.first)},
                        {"refusal", one.second.empty() ? json::Value(nullptr) : jsonText(one.second)}};
  };
  return json::Object{{"target", target},
                      {"machines", listOf(machines, jsonText)},
                      {"cases", listOf(cases, oneCase)},
                      {"nodes", toJson(nodes)},
                      {"variants", listOf(variants, [](const auto &variant) { return toJson(variant); })},
                      {"remarks", json::Array(allRemarks)},
                      {"stages", listOf(stageSeconds, stage)}};
}

} // namespace hewn
