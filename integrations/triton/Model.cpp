// SPDX-License-Identifier: Apache-2.0
#include "integrations/triton/Model.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

namespace hewn::triton {

using Json = nlohmann::json;

namespace {

/// A tensor of the config. If the model is batched, `dims` do not include the batch dim.
struct ConfiguredTensor {
  std::string name, type;
  std::vector<int64_t> dims;
};

/// Returns a 64-bit integer, which Triton's JSON has as a number, or as a string if protobuf wrote
/// it. Returns `otherwise` for other values.
int64_t integerOf(const Json &value, int64_t otherwise) {
  if (value.is_number_integer())
    return value.get<int64_t>();
  int64_t number = otherwise;
  if (value.is_string()) {
    const auto &text = value.get_ref<const std::string &>();
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

/// Returns a member of a JSON object, or null if there is none.
const Json &member(const Json &object, const char *key) {
  static const Json none;
  auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::string textOf(const Json &object, const char *key) {
  const Json &value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::vector<int64_t> integersOf(const Json &array) {
  std::vector<int64_t> all;
  if (array.is_array())
    for (const Json &one : array)
      all.push_back(integerOf(one, -1));
  return all;
}

ConfiguredTensor tensorOf(const Json &object, const char *nameKey) {
  ConfiguredTensor tensor{textOf(object, nameKey), textOf(object, "data_type"), integersOf(member(object, "dims"))};
  if (const Json &reshape = member(object, "reshape"); reshape.is_object())
    tensor.dims = integersOf(member(reshape, "shape")); // empty if the tensor is a scalar
  return tensor;
}

/// Returns the value of a setting such as "threads": the parameter of the model, otherwise that of
/// the server's command line, or "" if neither is given.
std::string settingOf(const Json &model, const Json &server, const char *key) {
  std::string own = textOf(member(member(model, "parameters"), key), "string_value");
  return own.empty() ? textOf(member(server, "cmdline"), key) : own;
}

/// Returns the name of a type in config.pbtxt, for example TYPE_FP32.
std::string configuredName(TRITONSERVER_DataType type) {
  return type == TRITONSERVER_TYPE_BYTES ? "TYPE_STRING" : "TYPE_" + std::string(TRITONSERVER_DataTypeString(type));
}

Error readFlag(const Json &model, const Json &server, const char *key, uint32_t bit, uint32_t &flags) {
  std::string text = settingOf(model, server, key);
  if (text == "true" || text == "1")
    flags |= bit;
  else if (!text.empty() && text != "false" && text != "0")
    return invalid("parameter '" + std::string(key) + "' is '" + text + "', must be true or false");
  return nullptr;
}

Error readSettings(const Json &model, const Json &server, Settings &settings) {
  settings.maxBatch = integerOf(member(model, "max_batch_size"), 0);
  if (std::string file = textOf(model, "default_model_filename"); !file.empty())
    settings.file = file;
  if (settings.file.find('/') != std::string::npos)
    return invalid("default_model_filename is '" + settings.file +
                   "', must be the name of a file in the version folder");
  if (std::string threads = settingOf(model, server, "threads"); !threads.empty()) {
    auto [end, error] = std::from_chars(threads.data(), threads.data() + threads.size(), settings.threads);
    if (error != std::errc() || end != threads.data() + threads.size() || settings.threads < 1)
      return invalid("parameter 'threads' is '" + threads + "', must be a positive number of threads");
  }
  if (Error error = readFlag(model, server, "verify_weights", HEWN_VERIFY_WEIGHTS, settings.flags))
    return error;
  return readFlag(model, server, "copy_weights", HEWN_COPY_WEIGHTS, settings.flags);
}

/// Checks that a tensor of the config matches that of the model. `lead` is 1 if Triton adds a batch
/// dim, otherwise 0.
Error compare(const char *what, const ConfiguredTensor &said, const hewn_tensor_info &has, size_t lead) {
  std::string tensor = std::string(what) + " '" + said.name + "'";
  std::string type = configuredName(typeOf(has.dtype));
  if (said.type != type)
    return invalid(tensor + " is " + said.type + " in the config but " + type + " in the model");
  size_t rank = said.dims.size() + lead;
  bool isScalar = has.rank == 0 && said.dims == std::vector<int64_t>{1}; // without batching, Triton has no rank 0
  if (!isScalar && rank != size_t(has.rank))
    return invalid(tensor + " has " + std::to_string(has.rank) + " dims in the model" +
                   (lead ? " (including the batch dim)" : "") + ", but " + shapeText(said.dims) + " in the config");
  for (size_t i = 0; !isScalar && i < said.dims.size(); ++i) {
    int64_t dim = has.dims[i + lead];
    if (said.dims[i] >= 0 && dim >= 0 && said.dims[i] != dim)
      return invalid(tensor + " is " + shapeText(said.dims) + " in the config, but dim " + std::to_string(i + lead) +
                     " is " + std::to_string(dim) + " in the model");
  }
  return nullptr;
}

/// Whether the text of a formula contains the symbol as a whole word.
bool speaksOf(std::string_view text, std::string_view symbol) {
  auto isPart = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(symbol); at != std::string_view::npos; at = text.find(symbol, at + 1)) {
    const size_t end = at + symbol.size();
    if ((at == 0 || !isPart(text[at - 1])) && (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}

/// Whether dim i of the tensor is the symbol or a formula that may contain it.
bool dependsOn(const hewn_tensor_info &tensor, int32_t i, const hewn_model &model, int32_t symbol) {
  if (tensor.dims[i] != HEWN_DIM_FORMULA)
    return tensor.dims[i] == HEWN_DIM_SYMBOL(symbol);
  const char *text = tensor.formulas ? tensor.formulas[i] : nullptr;
  return !text || speaksOf(text, model.symbols[symbol].name);
}

Error serialized(TRITONSERVER_Message *message, std::string &text) {
  const char *base = nullptr;
  size_t bytes = 0;
  if (Error error{TRITONSERVER_MessageSerializeToJson(message, &base, &bytes)})
    return error;
  text.assign(base, bytes);
  return nullptr;
}

} // namespace

const hewn_tensor_info *outputsFor(const hewn_model &model, const int64_t *symbols) {
  return model.case_of && model.num_cases > 0 && model.cases[model.case_of(symbols)].outputs
             ? model.cases[model.case_of(symbols)].outputs
             : model.outputs;
}

Model::~Model() { hewn_library_close(library); }

std::span<const hewn_tensor_info> Model::inputs() const { return {compiled->inputs, size_t(compiled->num_inputs)}; }
std::span<const hewn_tensor_info> Model::outputs() const { return {compiled->outputs, size_t(compiled->num_outputs)}; }

const char *Model::stateOf(size_t output) const { return states[output].empty() ? nullptr : states[output].c_str(); }

int64_t Model::mostRows() const {
  return batch < 0 ? 0 : std::min<int64_t>(config.maxBatch, compiled->symbols[batch].max);
}

Error Model::readConfig(TRITONBACKEND_Model *model, std::string &text) {
  TRITONBACKEND_Backend *backend = nullptr;
  TRITONSERVER_Message *server = nullptr, *own = nullptr;
  std::string serverText;
  if (Error error{TRITONBACKEND_ModelBackend(model, &backend)})
    return error;
  if (Error error{TRITONBACKEND_BackendConfig(backend, &server)})
    return error;
  if (Error error = serialized(server, serverText))
    return error;
  if (Error error{TRITONBACKEND_ModelConfig(model, 1, &own)})
    return error;
  Error error = serialized(own, text);
  logIfError(TRITONSERVER_MessageDelete(own));
  if (error)
    return error;
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object())
    return makeError(TRITONSERVER_ERROR_INTERNAL, "the config of the model is not a JSON object");
  return readSettings(parsed, Json::parse(serverText, nullptr, false), config);
}

Error Model::openLibrary(const std::string &path) {
  hewn_status status = hewn_library_open(path.c_str(), &library);
  if (Error error = errorOf(status))
    return error;
  compiled = hewn_library_model(library);
  return nullptr;
}

Error Model::checkTypes() const {
  auto check = [](const char *what, std::span<const hewn_tensor_info> tensors) -> Error {
    for (const hewn_tensor_info &tensor : tensors) {
      std::string name = std::string(what) + " '" + tensor.name + "' ";
      if (tensor.kind != HEWN_KIND_TENSOR)
        return makeError(TRITONSERVER_ERROR_UNSUPPORTED,
                         name + "is a sequence or optional; Triton only supports tensors");
      if (typeOf(tensor.dtype) == TRITONSERVER_TYPE_INVALID)
        return makeError(TRITONSERVER_ERROR_UNSUPPORTED,
                         name + "has a type that Triton does not support (DLPack type code " +
                             std::to_string(tensor.dtype.code) + ", " + std::to_string(tensor.dtype.bits) + " bits)");
    }
    return nullptr;
  };
  Error error = check("input", inputs());
  return error ? std::move(error) : check("output", outputs());
}

Error Model::checkTensors(const std::string &text) {
  Json parsed = Json::parse(text, nullptr, false);
  const size_t lead = config.maxBatch > 0 ? 1 : 0;
  std::vector<bool> given(inputs().size());
  answers.assign(outputs().size(), false);
  states.assign(outputs().size(), "");
  firstStates.resize(inputs().size());
  auto find = [](std::span<const hewn_tensor_info> tensors, const std::string &name) {
    auto found = std::ranges::find_if(tensors, [&](const hewn_tensor_info &one) { return one.name == name; });
    return size_t(found - tensors.begin());
  };
  auto take = [&](const char *what, std::span<const hewn_tensor_info> tensors, const ConfiguredTensor &said,
                  size_t &place) {
    place = find(tensors, said.name);
    return place < tensors.size() ? compare(what, said, tensors[place], lead)
                                  : invalid("the model has no " + std::string(what) + " '" + said.name + "'");
  };
  size_t place = 0;
  for (const Json &input : member(parsed, "input")) {
    if (Error error = take("input", inputs(), tensorOf(input, "name"), place))
      return error;
    given[place] = true;
  }
  for (const Json &output : member(parsed, "output")) {
    if (Error error = take("output", outputs(), tensorOf(output, "name"), place))
      return error;
    answers[place] = true;
  }
  const Json &sequences = member(parsed, "sequence_batching");
  for (const Json &state : member(sequences, "state")) {
    if (Error error = take("input", inputs(), tensorOf(state, "input_name"), place))
      return error;
    given[place] = true;
    for (const Json &first : member(state, "initial_state")) {
      firstStates[place] = integersOf(member(first, "dims"));
      firstStates[place].insert(firstStates[place].begin(), lead, 1);
    }
    if (Error error = take("output", outputs(), tensorOf(state, "output_name"), place))
      return error;
    states[place] = outputs()[place].name;
  }
  for (const Json &control : member(sequences, "control_input"))
    if (place = find(inputs(), textOf(control, "name")); place < given.size())
      given[place] = true;
  auto missing = std::ranges::find(given, false);
  if (missing != given.end())
    return invalid("the config does not list input '" + std::string(inputs()[missing - given.begin()].name) +
                   "', which the model requires");
  return nullptr;
}

Error Model::findBatch() {
  if (config.maxBatch <= 0)
    return nullptr;
  const std::string claim = "max_batch_size is " + std::to_string(config.maxBatch) + ", but ";
  for (auto tensors : {inputs(), outputs()})
    for (const hewn_tensor_info &tensor : tensors) {
      int64_t first = tensor.rank ? tensor.dims[0] : 0;
      bool isSymbol = first < 0 && first > HEWN_DIM_FORMULA;
      if (!isSymbol || (batch >= 0 && HEWN_DIM_SYMBOL(batch) != first))
        return invalid(claim + "the first dim of '" + tensor.name + "' is not " +
                       (batch < 0 ? "dynamic" : "'" + std::string(compiled->symbols[batch].name) + "'") +
                       ": set max_batch_size to 0 and list all dims to run each request separately");
      batch = int32_t(-1 - first);
    }
  for (auto tensors : {inputs(), outputs()})
    for (const hewn_tensor_info &tensor : tensors)
      for (int32_t i = 1; i < tensor.rank; ++i)
        if (batch >= 0 && dependsOn(tensor, i, *compiled, batch))
          return invalid(claim + "'" + compiled->symbols[batch].name + "' is also in dim " + std::to_string(i) +
                         " of '" + tensor.name + "', so requests cannot be batched");
  if (batch < 0)
    return invalid(claim + "no tensor of the model has a batch dim");
  const hewn_symbol &symbol = compiled->symbols[batch];
  if (symbol.max < config.maxBatch)
    return invalid(claim + "the model was compiled for '" + symbol.name + "' up to " + std::to_string(symbol.max));
  return nullptr;
}

void Model::countThreads(int32_t threads) {
  int64_t all = threadsInUse += threads, processors = std::thread::hardware_concurrency();
  if (processors > 0 && all > processors && !hasWarned.exchange(true))
    log(TRITONSERVER_LOG_WARN,
        ("model '" + title + "': its instances have more threads than the " + std::to_string(processors) +
         " processors of the machine: reduce the count of instance_group or parameter 'threads'")
            .c_str());
}

Error Model::load(TRITONBACKEND_Model *model, std::unique_ptr<Model> &loaded) {
  std::unique_ptr<Model> made(new Model());
  const char *name = "", *location = "";
  uint64_t version = 0;
  TRITONBACKEND_ArtifactType artifact = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  if (Error error{TRITONBACKEND_ModelName(model, &name)})
    return error;
  if (Error error{TRITONBACKEND_ModelVersion(model, &version)})
    return error;
  if (Error error{TRITONBACKEND_ModelRepository(model, &artifact, &location)})
    return error;
  made->title = name;
  std::string text;
  Error error = made->readConfig(model, text);
  if (!error && artifact != TRITONBACKEND_ARTIFACT_FILESYSTEM)
    error = makeError(TRITONSERVER_ERROR_UNSUPPORTED, "models can only be loaded from the file system");
  if (!error)
    error = made->openLibrary(std::string(location) + "/" + std::to_string(version) + "/" + made->config.file);
  if (!error)
    error = made->checkTypes();
  if (!error)
    error = made->findBatch();
  if (!error)
    error = made->checkTensors(text);
  if (error)
    return error;
  loaded = std::move(made);
  return nullptr;
}

} // namespace hewn::triton
