// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Samples.h"
#include "lib/Compiler/Quantization/Quantize.h"
#include "lib/Support/Files/ScratchFolders.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstring>

namespace hewn::quantize {

/// Memory limits for calibration samples that are kept in memory: one for part 0, and one for all
/// other parts.
static constexpr int64_t kFirstBytes = 64 << 20, kOtherBytes = 192 << 20;
/// Least number of kept samples in part 0 for holding it out: a single sample does not show how
/// errors vary.
static constexpr int64_t kFewestHeld = 2;

static int64_t bytesOf(llvm::ArrayRef<Array> arrays) {
  int64_t bytes = 0;
  for (const Array &array : arrays)
    bytes += int64_t(array.bytes.size());
  return bytes;
}

/// Returns true if all inputs and outputs of the model are numeric tensors. Otherwise emits errors.
static bool takesNumbers(const hewn_model &model, Diagnostics &diagnostics) {
  auto refuse = [&](const char *what, const hewn_tensor_info &info) {
    bool isNumbers = info.kind == HEWN_KIND_TENSOR && info.dtype.code != kDLOpaqueHandle;
    if (!isNumbers)
      diagnostics.error(llvm::Twine(what) + " '" + printable(info.name) + "' is " +
                        (info.kind == HEWN_KIND_TENSOR ? "of strings" : "a sequence or an optional value") +
                        ", which calibration does not support");
    return !isNumbers;
  };
  bool fine = true;
  for (int i = 0; i < model.num_inputs; ++i)
    fine &= !refuse("input", model.inputs[i]);
  for (int i = 0; i < model.num_outputs; ++i)
    fine &= !refuse("output", model.outputs[i]);
  return fine;
}

std::unique_ptr<ScratchModel> ScratchModel::compile(CompileOptions options, Diagnostics &diagnostics) {
  std::unique_ptr<ScratchModel> model(new ScratchModel);
  llvm::Expected<std::string> folder = makeScratchFolder();
  if (!folder) {
    diagnostics.error(llvm::toString(folder.takeError()));
    return nullptr;
  }
  model->folder = std::move(*folder);
  options.output = model->folder + "/model" + target::libraryExtension().str();
  options.transient = true;
  options.embedWeights = false;
  options.emit.clear();
  options.remarks.clear();
  options.explain = false;
  options.name = "samples";
  options.namesByContent = true;
  if (!compileOnce(options, diagnostics).ok)
    return nullptr;
  std::string problem;
  model->loaded = LoadedLibrary::open(options.output, "", {}, problem);
  if (model->loaded && takesNumbers(model->loaded->model(), diagnostics))
    return model;
  if (model->loaded)
    return nullptr;
  diagnostics.error("the model cannot be run on samples on this machine: " + problem);
  return nullptr;
}

ScratchModel::~ScratchModel() {
  loaded.reset();
  if (!folder.empty())
    removeScratchFolder(folder);
}

llvm::ArrayRef<float> floatsOf(const Array &array, std::vector<float> &floats) {
  floats.clear();
  auto as = [&](const llvm::fltSemantics &semantics) {
    for (size_t i = 0; i + 1 < array.bytes.size(); i += 2) {
      uint16_t bits = 0;
      std::memcpy(&bits, &array.bytes[i], sizeof(bits));
      floats.push_back(llvm::APFloat(semantics, llvm::APInt(16, bits)).convertToFloat());
    }
  };
  if (array.type.code == kDLBfloat && array.type.bits == 16) {
    as(llvm::APFloat::BFloat());
  } else if (array.type.code == kDLFloat && array.type.bits == 16) {
    as(llvm::APFloat::IEEEhalf());
  } else if (array.type.code == kDLFloat && array.type.bits == 32) {
    return {reinterpret_cast<const float *>(array.bytes.data()), array.bytes.size() / sizeof(float)};
  } else if (array.type.code == kDLFloat && array.type.bits == 64) {
    std::vector<double> wide(array.bytes.size() / sizeof(double));
    std::memcpy(wide.data(), array.bytes.data(), wide.size() * sizeof(double));
    floats.assign(wide.begin(), wide.end());
  }
  return floats;
}

/// Checks a calibration sample before it is run, and reports all of its errors, except for
/// mismatched dims, which the run itself checks.
bool Samples::check(const LoadedLibrary &library, std::vector<Feed> &feeds, std::vector<Array> &arrays,
                    Diagnostics &diagnostics) const {
  const hewn_model &model = library.model();
  std::string at = "sample " + std::to_string(number) + " of the calibration data";
  unsigned before = diagnostics.numErrors();
  std::vector<llvm::StringRef> names;
  for (int i = 0; i < model.num_inputs; ++i)
    names.push_back(model.inputs[i].name);
  std::vector<float> converted;
  std::vector<bool> have(names.size(), false);
  arrays.assign(names.size(), {});
  for (Feed &feed : feeds) {
    if (feed.name.empty() && names.size() == 1) // a single input needs no name
      feed.name = names.front().str();
    auto found = size_t(llvm::find(names, feed.name) - names.begin());
    std::string quoted = "'" + printable(feed.name) + "'";
    if (found == names.size()) {
      llvm::StringRef near = nearestName(feed.name, names);
      diagnostics.error(at + " has " + quoted + ", which is not an input; there are: " + llvm::join(names, ", ") +
                        (near.empty() ? "" : "; did you mean '" + near.str() + "'?"));
      continue;
    }
    const hewn_tensor_info &info = model.inputs[found];
    have[found] = true;
    if (info.kind != HEWN_KIND_TENSOR || info.dtype.code != feed.array.type.code ||
        info.dtype.bits != feed.array.type.bits)
      diagnostics.error(at + ": input " + quoted + " is " + dataTypeText(feed.array.type) + ", the model wants " +
                        (info.kind == HEWN_KIND_TENSOR ? dataTypeText(info.dtype) : "no tensor"));
    else if (!llvm::all_of(floatsOf(feed.array, converted), [](float x) { return !std::isnan(x); }))
      diagnostics.error(at + ": input " + quoted + " holds NaN");
    arrays[found] = std::move(feed.array);
  }
  for (auto [name, there] : llvm::zip(names, have))
    if (!there)
      diagnostics.error(at + " lacks the input '" + printable(name) + "'");
  return diagnostics.numErrors() == before;
}

Samples::Group Samples::keep(Inputs arrays) {
  auto group = Group(number % kParts);
  int64_t bytes = bytesOf(arrays), &all = group == 0 ? firstBytes : otherBytes;
  if (all + bytes > (group == 0 ? kFirstBytes : kOtherBytes))
    return kParts;
  all += bytes;
  kept.push_back({number, group, std::move(arrays)});
  return group;
}

bool Samples::areHeldOut() const {
  return llvm::count_if(kept, [](const Kept &sample) { return sample.group == 0; }) >= kFewestHeld;
}

std::vector<const Samples::Inputs *> Samples::those(llvm::function_ref<bool(Group)> are) const {
  std::vector<const Inputs *> some;
  bool all = !areHeldOut();
  for (const Kept &sample : kept)
    if (all || are(sample.group))
      some.push_back(&sample.inputs);
  return some;
}

std::vector<const Samples::Inputs *> Samples::fitted(unsigned part) const {
  return those([&](Group group) { return group != part; });
}

std::vector<const Samples::Inputs *> Samples::compared(unsigned part) const {
  return those([&](Group group) { return group == part || part == kNoPart; });
}

std::vector<int64_t> Samples::numbers(llvm::ArrayRef<unsigned> parts) const {
  std::vector<int64_t> numbers;
  for (const Kept &sample : kept)
    if (areHeldOut() && llvm::is_contained(parts, sample.group))
      numbers.push_back(sample.number);
  return numbers;
}

bool Samples::runOne(LoadedLibrary &model, const std::vector<Array> &arrays, std::vector<Array> &outputs, int64_t which,
                     Diagnostics &diagnostics) const {
  hewn_status status = model.run(arrays, outputs);
  if (status.code != HEWN_OK)
    diagnostics.error("sample " + llvm::Twine(which) + " of the calibration data: " + status.message);
  return status.code == HEWN_OK;
}

bool Samples::run(LoadedLibrary &model, Diagnostics &diagnostics,
                  llvm::function_ref<void(std::vector<Array> &, Group)> visit) {
  std::vector<Feed> feeds;
  std::string problem;
  std::vector<Array> outputs;
  while (options.nextSample(feeds, problem)) {
    ++number;
    Inputs arrays;
    if (!check(model, feeds, arrays, diagnostics) || !runOne(model, arrays, outputs, number, diagnostics))
      return false;
    feeds.clear();
    visit(outputs, keep(std::move(arrays)));
  }
  if (!problem.empty())
    diagnostics.error("calibration data: " + problem);
  else if (number == 0)
    diagnostics.error("the calibration data has no samples");
  return problem.empty() && number > 0;
}

} // namespace hewn::quantize
