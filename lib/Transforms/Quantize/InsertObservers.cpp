// SPDX-License-Identifier: Apache-2.0
//
// Returns the activations that would be quantized, for calibration runs (see Passes.td).
#include "lib/Transforms/Quantize/Candidates.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_INSERTOBSERVERSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

struct InsertObserversPass : impl::InsertObserversPassBase<InsertObserversPass> {
  InsertObserversPass() = default;
  InsertObserversPass(const quantize::Quantization *quantization, std::vector<ExposedOperand> *exposed)
      : quantization(quantization), exposed(exposed) {}

  void runOnOperation() override {
    static const quantize::Quantization all;
    enum What { Values, Rows, Channels };
    using Key = std::pair<void *, What>;
    llvm::MapVector<Key, ExposedOperand, std::map<Key, unsigned>> operands;
    auto add = [&](const ContractionCandidate &site, What what) {
      Value value = what == Values ? site.source : site.op->getOperand(0);
      auto [found, isNew] = operands.try_emplace({value.getAsOpaquePointer(), what});
      ExposedOperand &operand = found->second;
      operand.isRows = what == Rows;
      operand.isChannels = what == Channels;
      std::optional<unsigned> channels = channelDimOf(site, value);
      operand.channelDim = isNew || operand.channelDim == channels ? channels : std::nullopt;
      operand.readers.push_back({site.name, site.kind.str()});
    };
    std::vector<ContractionCandidate> sites = findContractionCandidates(getOperation());
    if (exposed && !exposed->empty())
      return exposeAgain(sites);
    roundsByRows = weightsToChoose(sites) <= kMostWeights;
    for (const ContractionCandidate &site : sites) {
      if (needsRange(quantization ? *quantization : all, site))
        add(site, Values);
      if (quantization && needsRows(*quantization, site))
        add(site, Rows);
      if (quantization && needsChannels(*quantization, site))
        add(site, Channels);
    }
    for (auto &[key, operand] : operands) {
      operand.result = expose(Value::getFromOpaquePointer(key.first));
      if (exposed)
        exposed->push_back(operand);
    }
  }

  /// Observes the same operands that a compile of another variant of the model has observed.
  void exposeAgain(ArrayRef<ContractionCandidate> sites) {
    for (ExposedOperand &operand : *exposed) {
      const auto *site =
          llvm::find_if(sites, [&](const ContractionCandidate &s) { return s.name == operand.readers.front().name; });
      if (site == sites.end()) {
        getOperation().emitError() << "the contraction '" << operand.readers.front().name
                                   << "' is not in all cases of the model: bind the dims for calibration";
        return signalPassFailure();
      }
      operand.result = expose(operand.isRows || operand.isChannels ? site->op->getOperand(0) : site->source);
    }
  }

  /// Appends the value to the function's results and returns its result index.
  unsigned expose(Value value) {
    std::optional<unsigned> number = addResult(getOperation(), value);
    if (!number)
      signalPassFailure();
    return number.value_or(0);
  }

  static bool needsRange(const quantize::Quantization &wanted, const ContractionCandidate &site) {
    if (!site.form || !isInProgram(site.source) || wanted.sites.count(site.name))
      return false;
    const quantize::Scheme &scheme = wanted.schemeFor(site.name, site.kind);
    return !scheme.keepFloat && scheme.activations.integers;
  }

  /// Returns the number of weights for which the compiler may choose GPTQ as the rounding method.
  /// Their integers would be written to the quantization's text, which limits their number.
  int64_t weightsToChoose(ArrayRef<ContractionCandidate> sites) const {
    int64_t count = 0;
    for (const ContractionCandidate &site : sites)
      if (quantization && mayChoose(site))
        count += cast<RankedTensorType>(site.weights.getType()).getNumElements();
    return count;
  }

  bool mayChoose(const ContractionCandidate &site) const {
    const quantize::Scheme *scheme = schemeOfRows(*quantization, site);
    return scheme && scheme->activations.integers && scheme->weights.rounding == quantize::Rounding::Choose;
  }

  bool needsRows(const quantize::Quantization &wanted, const ContractionCandidate &site) const {
    const quantize::Scheme *scheme = schemeOfRows(wanted, site);
    return scheme && (scheme->weights.rounding == quantize::Rounding::Gptq || (roundsByRows && mayChoose(site)));
  }

  /// Returns true if a codebook is to be fitted to the contraction's weights with importance
  /// weights along K, which calibration statistics provide.
  static bool needsChannels(const quantize::Quantization &wanted, const ContractionCandidate &site) {
    const quantize::Scheme *scheme = readsRows(site) ? schemeOfRows(wanted, site) : nullptr;
    return scheme && scheme->weights.storage == quantize::Storage::Codebook;
  }

  /// Returns the scheme of the contraction if the contraction reduces channels only and the
  /// quantization has no chosen values for it yet. Returns null otherwise.
  static const quantize::Scheme *schemeOfRows(const quantize::Quantization &wanted, const ContractionCandidate &site) {
    if (!sumsChannels(site) || !isInProgram(site.op->getOperand(0)) || wanted.sites.count(site.name))
      return nullptr;
    const quantize::Scheme &scheme = wanted.schemeFor(site.name, site.kind);
    return scheme.keepFloat ? nullptr : &scheme;
  }

  /// Limit of the weights whose integers are written to the quantization's text; as text they take
  /// 11 MB.
  static constexpr int64_t kMostWeights = 8 << 20;

  const quantize::Quantization *quantization = nullptr;
  std::vector<ExposedOperand> *exposed = nullptr;
  bool roundsByRows = false;
};

} // namespace

std::unique_ptr<Pass> createInsertObserversPass(const quantize::Quantization *quantization,
                                                std::vector<ExposedOperand> *exposed) {
  return std::make_unique<InsertObserversPass>(quantization, exposed);
}

} // namespace hewn
