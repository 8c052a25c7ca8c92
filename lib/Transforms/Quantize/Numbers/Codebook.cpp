// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/Numbers/Codebook.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using llvm::ArrayRef;

namespace hewn::quantize {

namespace {

/// Largest magnitude of a scaled weight in the histogram to which a table is fitted. Table entries
/// are in [-1, 1], but refitted scales may lead to larger ones. Each bin stores the sum of its
/// numbers, so the bin width only limits the resolution of cell boundaries.
constexpr double kReach = 1.25;
constexpr int64_t kBins = 1 << 16;
/// A table rounded to TableSteps is used if its noise is at most this factor of the noise of the
/// unrestricted table (a quarter of a decibel).
constexpr double kMostOfSteps = 1.06;
/// Number of column subsets with a histogram of their own, which threads fill in parallel. It does
/// not depend on the number of threads, so that the floating-point sums do not either.
constexpr int64_t kParts = 16;
/// Two limits of fitting a codebook: how often table and scales are fitted in alternation, and the
/// iterations of Lloyd's algorithm per table.
constexpr int kTurns = 4, kSteps = 300;

double centerOf(double bin) { return (bin + 0.5) * (2 * kReach / double(kBins)) - kReach; }
int64_t binOf(double x) {
  return std::clamp<int64_t>(int64_t((x + kReach) * (double(kBins) / (2 * kReach))), 0, kBins - 1);
}

/// Histogram of scaled weights. Each bin has two sums over its weights: Σ importance and Σ
/// importance * weight.
struct Histogram {
  std::vector<double> weights, numbers;
  Histogram() : weights(kBins), numbers(kBins) {}

  void add(double number, double importance) {
    auto bin = size_t(binOf(number));
    weights[bin] += importance;
    numbers[bin] += importance * number;
  }
  void add(const Histogram &other) {
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] += other.weights[i];
      numbers[i] += other.numbers[i];
    }
  }
};

std::vector<double> sumsInFront(const std::vector<double> &values) {
  std::vector<double> sums(values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i)
    sums[i + 1] = sums[i] + values[i];
  return sums;
}

/// Returns the bin boundaries of the initial `count` cells. The density of cells is proportional to
/// the cube root of the density of the weights, which is optimal for small cells (Panter and Dite,
/// 1951).
std::vector<int64_t> firstBorders(const Histogram &all, int64_t count) {
  constexpr int64_t wide = 64;
  std::vector<double> roots(size_t(kBins / wide));
  for (size_t i = 0; i < all.weights.size(); ++i)
    roots[i / size_t(wide)] += all.weights[i];
  for (double &root : roots)
    root = std::cbrt(root);
  std::vector<double> sums = sumsInFront(roots);
  std::vector<int64_t> borders = {0};
  for (int64_t j = 1; j < count; ++j) {
    double wanted = sums.back() * double(j) / double(count);
    auto after = std::max<int64_t>(1, std::upper_bound(sums.begin(), sums.end(), wanted) - sums.begin());
    auto i = size_t(std::min<int64_t>(after, int64_t(roots.size())) - 1);
    double inside = roots[i] > 0 ? (wanted - sums[i]) / roots[i] : 0;
    borders.push_back(std::max(borders.back(), int64_t((double(i) + inside) * double(wide))));
  }
  borders.push_back(kBins);
  return borders;
}

/// Fits a table of `count` entries by Lloyd's algorithm. Each entry becomes the mean of its cell,
/// and cells end halfway between entries. With prefix sums over the bins, the time of an iteration
/// is proportional to the number of entries.
std::vector<float> fitTable(const Histogram &all, int64_t count) {
  std::vector<int64_t> borders = firstBorders(all, count);
  std::vector<double> weights = sumsInFront(all.weights), numbers = sumsInFront(all.numbers), table;
  table.resize(size_t(count));
  for (int step = 0; step < kSteps; ++step) {
    for (size_t j = 0; j < table.size(); ++j) {
      auto from = size_t(borders[j]), to = size_t(borders[j + 1]);
      double weight = weights[to] - weights[from];
      table[j] = weight > 0 ? (numbers[to] - numbers[from]) / weight : centerOf(double(from + to) / 2 - 0.5);
    }
    std::vector<int64_t> next = borders;
    for (size_t j = 1; j < table.size(); ++j)
      next[j] = std::max(next[j - 1], binOf((table[j - 1] + table[j]) / 2 + kReach / double(kBins)));
    if (next == borders)
      break;
    borders = std::move(next);
  }
  std::vector<float> floats(table.begin(), table.end());
  llvm::sort(floats);
  return floats;
}

void roundTable(std::vector<float> &table, const TableSteps &steps) {
  for (float &number : table)
    number = float(std::clamp(std::nearbyint(double(number) * steps.units), steps.lowest, steps.highest) / steps.units);
}

class Fitter {
public:
  Fitter(ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how, mlir::MLIRContext *context)
      : weights(weights), layout(layout), how(how), context(context), length(how.group ? how.group : layout.depth),
        groups(layout.depth / length), scales(size_t(groups * layout.columns)) {}

  /// Sets the initial scale of each group, or of all weights, to the group's element with the
  /// largest magnitude.
  void firstScales() {
    eachGroup([&](int64_t column, int64_t group, float &scale) {
      scale = 0;
      for (int64_t k = group * length; k < (group + 1) * length; ++k)
        if (float w = at(column, k); std::fabs(w) > std::fabs(scale))
          scale = w;
    });
    if (how.perTensor)
      llvm::fill(scales, *std::max_element(scales.begin(), scales.end(),
                                           [](float x, float y) { return std::fabs(x) < std::fabs(y); }));
  }

  std::vector<float> fit(ArrayRef<double> importance) {
    std::vector<Histogram> parts(static_cast<size_t>(kParts));
    mlir::parallelFor(context, 0, size_t(kParts), [&](size_t part) {
      for (auto column = int64_t(part); column < layout.columns; column += kParts)
        for (int64_t k = 0; k < layout.depth; ++k)
          if (double scale = double(scaleOf(column, k / length)); scale != 0)
            parts[part].add(double(at(column, k)) / scale,
                            scale * scale * (importance.empty() ? 1 : importance[size_t(k)]));
    });
    for (size_t part = 1; part < parts.size(); ++part)
      parts[0].add(parts[part]);
    return fitTable(parts[0], int64_t(1) << how.bits);
  }

  /// Sets each scale to the least-squares fit of its weights to the table entries that are assigned
  /// to them now.
  void refitScales(ArrayRef<float> table) {
    if (how.perTensor)
      return;
    std::vector<float> borders = bordersOf(table);
    eachGroup([&](int64_t column, int64_t group, float &scale) {
      double products = 0, squares = 0;
      for (int64_t k = group * length; k < (group + 1) * length; ++k) {
        double number = double(table[codeOf(at(column, k), scale, borders)]);
        products += double(at(column, k)) * number;
        squares += number * number;
      }
      if (auto better = float(squares > 0 ? products / squares : 0); std::isnormal(better))
        scale = better;
    });
  }

  RoundedWeights rounded(std::vector<float> table) {
    RoundedWeights result;
    result.integers.resize(weights.size());
    std::vector<float> borders = bordersOf(table);
    std::vector<double> signal(size_t(layout.columns)), noise(size_t(layout.columns));
    mlir::parallelFor(context, 0, size_t(layout.columns), [&](size_t column) {
      for (int64_t k = 0; k < layout.depth; ++k) {
        float w = at(int64_t(column), k), scale = scaleOf(int64_t(column), k / length);
        size_t code = codeOf(w, scale, borders);
        result.integers[layout.at(int64_t(column), k)] = int8_t(uint8_t(code));
        double left = double(w - table[code] * scale);
        signal[column] += double(w) * double(w);
        noise[column] += left * left;
      }
    });
    for (size_t column = 0; column < signal.size(); ++column) {
      result.signal += signal[column];
      result.noise += noise[column];
    }
    result.scales = scales;
    result.table = std::move(table);
    return result;
  }

private:
  float at(int64_t column, int64_t k) const { return weights[layout.at(column, k)]; }
  float scaleOf(int64_t column, int64_t group) const { return scales[size_t(group * layout.columns + column)]; }

  /// Returns the midpoints of neighbouring table entries, at which the nearest entry changes.
  static std::vector<float> bordersOf(ArrayRef<float> table) {
    std::vector<float> borders;
    for (size_t j = 1; j < table.size(); ++j)
      borders.push_back((table[j - 1] + table[j]) / 2);
    return borders;
  }
  static size_t codeOf(float w, float scale, ArrayRef<float> borders) {
    float number = scale == 0 ? 0 : w / scale;
    return size_t(std::upper_bound(borders.begin(), borders.end(), number) - borders.begin());
  }

  void eachGroup(llvm::function_ref<void(int64_t column, int64_t group, float &scale)> visit) {
    mlir::parallelFor(context, 0, size_t(layout.columns), [&](size_t column) {
      for (int64_t group = 0; group < groups; ++group)
        visit(int64_t(column), group, scales[size_t(group * layout.columns) + column]);
    });
  }

  ArrayRef<float> weights;
  const ColumnLayout &layout;
  const Weights &how;
  mlir::MLIRContext *context;
  int64_t length, groups;
  std::vector<float> scales;
};

} // namespace

RoundedWeights lookUpWeights(ArrayRef<float> weights, const ColumnLayout &layout, const Weights &how,
                             ArrayRef<double> importance, ArrayRef<double> table, const TableSteps &steps,
                             mlir::MLIRContext *context) {
  if (!llvm::all_of(weights, [](float w) { return std::isfinite(w); })) {
    RoundedWeights none;
    none.isFinite = false;
    return none;
  }
  Fitter fitter(weights, layout, how, context);
  fitter.firstScales();
  for (int turn = 0; turn < kTurns && !how.perTensor; ++turn)
    fitter.refitScales(fitter.fit({}));
  std::vector<float> fitted = table.empty() ? fitter.fit(importance) : std::vector<float>(table.begin(), table.end());
  if (steps.units == 0)
    return fitter.rounded(std::move(fitted));
  std::vector<float> inSteps = fitted;
  roundTable(inSteps, steps);
  if (!table.empty() && inSteps != fitted)
    return fitter.rounded(std::move(fitted));
  RoundedWeights exact = fitter.rounded(fitted);
  fitter.refitScales(inSteps); // new scales compensate part of the error of rounding the table
  RoundedWeights coarse = fitter.rounded(std::move(inSteps));
  return !table.empty() || coarse.noise <= kMostOfSteps * exact.noise ? coarse : exact;
}

} // namespace hewn::quantize
