// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Profile/Measure.h"
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Models/Messages.h"
#include "lib/Tools/Models/Record.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>
#include <cmath>
#include <numeric>

namespace json = llvm::json;

namespace hewn::tool {

std::string cpuName() {
  if (auto file = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo"))
    for (llvm::StringRef line : llvm::split((*file)->getBuffer(), '\n'))
      if (auto [key, value] = line.split(':'); key.trim() == "model name" && !value.trim().empty())
        return printable(value.trim());
  return llvm::sys::getHostCPUName().str(); // on AArch64, Linux only lists numbers
}

//===------------------------------------------------------------------------------------------===//
// Inputs
//===------------------------------------------------------------------------------------------===//

namespace {

/// Returns the dims that were bound to a fixed size at compile time; they are no longer symbols of
/// the model.
std::vector<std::pair<std::string, int64_t>> boundSizes(const Loaded &loaded) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  Diagnostics diagnostics;
  for (const std::string &text : loaded.bindings())
    if (std::optional<importer::DimBinding> binding = importer::parseDimBinding(text, diagnostics);
        binding && binding->fixed())
      sizes.push_back({printable(binding->name), binding->low});
  return sizes;
}

class InputSizes {
public:
  /// In a model that is split, the last symbol is the rank, which cannot be set.
  InputSizes(const hewn_model &model, llvm::raw_ostream &messages)
      : model(model), messages(messages), sizes(size_t(model.num_symbols) - (model.num_ranks > 0)) {}

  /// Sets a size, given as "batch=8". Returns false after printing an error.
  bool give(const std::string &text) {
    Diagnostics diagnostics;
    std::optional<importer::DimBinding> binding = importer::parseDimBinding(text, diagnostics);
    diagnostics.print(messages);
    if (!binding)
      return false;
    // A dim is found by its name in the compiled model and by its name in the ONNX model.
    auto isCalled = [&](llvm::StringRef symbol) {
      return symbol == binding->name || symbol == importer::symbolText(binding->name);
    };
    for (int32_t s = 0; s < int32_t(sizes.size()); ++s)
      if (isCalled(model.symbols[s].name) && binding->fixed()) {
        sizes[size_t(s)] = binding->low;
        return true;
      }
    llvm::SmallVector<std::string> names;
    for (int32_t s = 0; s < int32_t(sizes.size()); ++s)
      names.push_back(printable(model.symbols[s].name));
    if (llvm::is_contained(names, printable(binding->name)))
      messages << "error: '" << printable(text) << "' is not a single size: a run needs one, for example "
               << printable(binding->name) << "=128\n";
    else
      messages << "error: the compiled model has no dynamic dim '" << printable(binding->name)
               << "'; its dynamic dims are: " << (names.empty() ? "none" : llvm::join(names, ", ")) << "\n";
    return false;
  }

  /// Sets the sizes of unset dims from a given input.
  void learn(const hewn_tensor_info &info, const Array &array) {
    for (int32_t d = 0; d < info.rank && size_t(d) < array.shape.size(); ++d)
      if (std::optional<size_t> s = symbolOf(info.dims[d]); s && !sizes[*s])
        sizes[*s] = array.shape[size_t(d)];
  }

  /// Sets all unset dims to their minimum.
  void assume() {
    for (auto [s, size] : llvm::enumerate(sizes))
      if (!size) {
        size = std::max<int64_t>(1, model.symbols[s].min);
        assumed.push_back(printable(model.symbols[s].name));
        told.push_back(assumed.back() + " = " + std::to_string(*size));
      }
  }

  Array filled(const hewn_tensor_info &info) {
    std::vector<int64_t> shape;
    for (int32_t d = 0; d < info.rank; ++d) {
      int64_t dim = info.dims[d];
      if (std::optional<size_t> s = symbolOf(dim))
        dim = *sizes[*s];
      if (dim < 0) { // an anonymous dim
        dim = 1;
        told.push_back("dim " + std::to_string(d) + " of input '" + printable(info.name) + "' = 1");
      }
      shape.push_back(dim);
    }
    return filledArray(info.dtype, std::move(shape));
  }

  std::optional<size_t> symbolOf(int64_t dim) const {
    bool isSymbol = dim < 0 && dim > HEWN_DIM_FORMULA && -1 - dim < int64_t(sizes.size());
    return isSymbol ? std::optional(size_t(-1 - dim)) : std::nullopt;
  }

  const hewn_model &model;
  llvm::raw_ostream &messages;
  std::vector<std::optional<int64_t>> sizes;
  std::vector<std::string> assumed, told;
};

} // namespace

bool measuredInputs(const Loaded &loaded, const std::vector<std::string> &given, const std::vector<std::string> &sizes,
                    MeasuredInputs &inputs) {
  const hewn_model &model = loaded.model();
  std::vector<bool> have;
  bool fine = gatherInputs(loaded, given, inputs.arrays, &have);
  InputSizes open(model, loaded.stream());
  for (const std::string &text : sizes)
    fine &= open.give(text);
  if (!fine)
    return false;
  for (int32_t i = 0; i < model.num_inputs; ++i)
    if (have[size_t(i)])
      open.learn(model.inputs[i], inputs.arrays[size_t(i)]);
  open.assume();
  for (int32_t i = 0; i < model.num_inputs; ++i)
    if (!have[size_t(i)])
      inputs.arrays[size_t(i)] = open.filled(model.inputs[i]);
  for (auto [s, size] : llvm::enumerate(open.sizes))
    inputs.dims.push_back({printable(model.symbols[s].name), *size});
  llvm::append_range(inputs.dims, boundSizes(loaded));
  inputs.assumed = open.assumed;
  if (!open.told.empty()) {
    std::string by;
    for (const std::string &dim : open.assumed)
      by += "--dim " + shellWord(dim + "=SIZE") + " ";
    by += by.empty() ? "" : "or ";
    printMessage(loaded.stream(),
                 "warning: the sizes of dynamic dims are not given; using the minimum: " + llvm::join(open.told, ", "));
    printMessage(loaded.stream(), "note: set them by " + by + "--input with an array");
  }
  return true;
}

//===------------------------------------------------------------------------------------------===//
// Times
//===------------------------------------------------------------------------------------------===//

double Timings::percentile(double percent) const {
  std::vector<double> sorted(times);
  size_t rank = size_t(std::ceil(percent / 100 * double(sorted.size())));
  auto at = sorted.begin() + std::ptrdiff_t(std::max<size_t>(rank, 1) - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

double Timings::mean() const { return std::accumulate(times.begin(), times.end(), 0.0) / double(times.size()); }

Measurement::Measurement(const Loaded &loaded, const MeasuredInputs &inputs)
    : target(loaded.variant().target), cpu(cpuName()), threads(loaded.threads()), inputs(&inputs) {
  const hewn_model &model = loaded.model();
  std::optional<int64_t> leading;
  bool isOne = true;
  for (int32_t i = 0; i < model.num_inputs; ++i) {
    inputNames.push_back(model.inputs[i].name);
    if (model.inputs[i].rank == 0)
      continue;
    isOne &= !leading || *leading == model.inputs[i].dims[0];
    leading = model.inputs[i].dims[0];
  }
  if (isOne && leading && *leading < 0 && *leading > HEWN_DIM_FORMULA)
    items = inputs.dims[size_t(-1 - *leading)];
}

std::string Measurement::text() const {
  std::string dims;
  for (const auto &[name, size] : inputs->dims)
    dims += llvm::formatv(", {0} = {1}", name, size);
  std::string text = llvm::formatv("{0}, {1} thread{2}, {3}{4}\n", target, threads, threads == 1 ? "" : "s", cpu, dims);
  text +=
      llvm::formatv("{0} runs: fastest {1:f4} ms, median {2:f4} ms, p90 {3:f4} ms, p99 {4:f4} ms, slowest {5:f4} ms; "
                    "{6:f1} runs/s",
                    timings.runs(), timings.percentile(0), timings.percentile(50), timings.percentile(90),
                    timings.percentile(99), timings.percentile(100), runsPerSecond());
  if (items && items->second != 1)
    text += llvm::formatv(", {0:f1} items/s by {1}", runsPerSecond() * double(items->second), items->first);
  text += interrupted ? "; interrupted\n" : "\n";
  if (device)
    text += llvm::formatv("on the device: {0:f4} ms in {1} kernel{2}, launched one by one\n",
                          device->kernelMilliseconds, device->launches, device->launches == 1 ? "" : "s");
  return text;
}

json::Object Measurement::record() const {
  json::Object dims;
  for (const auto &[name, size] : inputs->dims)
    dims[name] = size;
  json::Array arrays;
  for (auto [name, array] : llvm::zip(inputNames, inputs->arrays))
    arrays.push_back(recordOf(name, array));
  json::Object milliseconds{{"fastest", timings.percentile(0)},   {"p50", timings.percentile(50)},
                            {"p90", timings.percentile(90)},      {"p99", timings.percentile(99)},
                            {"slowest", timings.percentile(100)}, {"mean", timings.mean()}};
  json::Object record{{"target", target},
                      {"cpu", cpu},
                      {"threads", threads},
                      {"dims", std::move(dims)},
                      {"assumed_dims", inputs->assumed},
                      {"inputs", std::move(arrays)},
                      {"runs", int64_t(timings.runs())},
                      {"milliseconds", std::move(milliseconds)},
                      {"runs_per_second", jsonNumber(runsPerSecond())},
                      {"interrupted", interrupted}};
  if (device)
    record["device"] =
        json::Object{{"kernel_milliseconds", device->kernelMilliseconds}, {"launches", device->launches}};
  if (items) {
    record["items"] = json::Object{{"dim", items->first}, {"per_run", items->second}};
    record["items_per_second"] = jsonNumber(runsPerSecond() * double(items->second));
  }
  return record;
}

bool measure(double seconds, size_t least, Measurement &measurement, llvm::function_ref<bool()> stop,
             llvm::function_ref<bool()> run) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds || measurement.timings.runs() < least) {
    Clock::time_point start = Clock::now();
    if (!run())
      return false;
    measurement.timings.add(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (stop()) {
      measurement.interrupted = true;
      break;
    }
  }
  return true;
}

} // namespace hewn::tool
