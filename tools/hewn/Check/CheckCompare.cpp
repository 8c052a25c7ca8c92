// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Check/CheckCompare.h"
#include "hewn/runtime.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace hewn::tool {

bool parseTolerance(llvm::StringRef text, Tolerance &tolerance) {
  auto [relative, absolute] = text.split(',');
  double r = 0, a = 0;
  if (relative.getAsDouble(r) || r < 0 || (text.contains(',') && (absolute.getAsDouble(a) || a < 0)))
    return false;
  tolerance.relative = r;
  tolerance.absolute = a;
  return true;
}

double productStep(Precision precision) {
  return std::ldexp(1, precision == Precision::Highest ? -23 : precision == Precision::High ? -15 : -7);
}

/// Default error bounds, in steps of the type (units in the last place): relative to the element,
/// and relative to the largest element of the value. The kWide constants apply to types whose step
/// is larger than kWideStep, which are half precision and less.
static constexpr double kOwnSteps = 64, kLargestSteps = 16, kWideOwnSteps = 4, kWideLargestSteps = 2, kWideStep = 1e-5;
/// An error up to this multiple of the element's change under perturbation (`Spread`) is accepted,
/// too.
static constexpr double kSpreads = 16;

static const llvm::fltSemantics *semanticsOf(DLDataType type) {
  switch (type.code) {
  case kDLFloat:
    return type.bits == 16 ? &llvm::APFloat::IEEEhalf() : nullptr;
  case HEWN_DL_FLOAT8_E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case HEWN_DL_FLOAT8_E4M3FNUZ:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case HEWN_DL_FLOAT8_E5M2:
    return &llvm::APFloat::Float8E5M2();
  case HEWN_DL_FLOAT8_E5M2FNUZ:
    return &llvm::APFloat::Float8E5M2FNUZ();
  case HEWN_DL_FLOAT8_E8M0FNU:
    return &llvm::APFloat::Float8E8M0FNU();
  default:
    return nullptr;
  }
}

bool isFloating(DLDataType type) { return type.code == kDLFloat || type.code == kDLBfloat || semanticsOf(type); }

bool isStorable(DLDataType type) {
  bool integer = type.code == kDLInt || type.code == kDLUInt || type.code == HEWN_DL_BOOL;
  return type.bits >= 8 && (integer || type.code == kDLFloat || type.code == kDLBfloat);
}

template <typename T> static double read(const char *bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes + i * int64_t(sizeof(T)), sizeof(T));
  return double(value);
}

static double numberAt(DLDataType type, const char *bytes, int64_t i) {
  if (type.code == kDLFloat && type.bits == 32)
    return read<float>(bytes, i);
  if (type.code == kDLFloat && type.bits == 64)
    return read<double>(bytes, i);
  if (type.code == kDLBfloat) {
    uint16_t half;
    std::memcpy(&half, bytes + i * 2, 2);
    uint32_t whole = uint32_t(half) << 16;
    float value;
    std::memcpy(&value, &whole, 4);
    return value;
  }
  if (const llvm::fltSemantics *semantics = semanticsOf(type)) {
    uint64_t bits = type.bits == 8 ? uint64_t(read<uint8_t>(bytes, i)) : uint64_t(read<uint16_t>(bytes, i));
    return llvm::APFloat(*semantics, llvm::APInt(type.bits, bits)).convertToDouble();
  }
  bool isSigned = type.code == kDLInt;
  switch ((type.bits + 7) / 8) {
  case 1:
    return isSigned ? read<int8_t>(bytes, i) : read<uint8_t>(bytes, i);
  case 2:
    return isSigned ? read<int16_t>(bytes, i) : read<uint16_t>(bytes, i);
  case 4:
    return isSigned ? read<int32_t>(bytes, i) : read<uint32_t>(bytes, i);
  default:
    return isSigned ? read<int64_t>(bytes, i) : read<uint64_t>(bytes, i);
  }
}

double elementAt(const Array &array, int64_t i) { return numberAt(array.type, array.bytes.data(), i); }

double stepOf(DLDataType type, const Tolerance &tolerance) {
  double step = 0;
  if (type.code == kDLFloat)
    step = std::ldexp(1, type.bits == 64 ? -52 : type.bits == 32 ? -23 : -10);
  else if (type.code == kDLBfloat)
    step = std::ldexp(1, -7);
  else if (const llvm::fltSemantics *semantics = semanticsOf(type))
    step = std::ldexp(1, 1 - int(llvm::APFloat::semanticsPrecision(*semantics)));
  return type.code == kDLFloat && type.bits == 32 ? std::max(step, tolerance.productStep) : step;
}

void writeElement(DLDataType type, char *to, double value) {
  if (type.code == kDLFloat && type.bits == 64) {
    std::memcpy(to, &value, 8);
  } else if (type.code == kDLFloat && type.bits == 32) {
    float narrow = float(value);
    std::memcpy(to, &narrow, 4);
  } else if (const llvm::fltSemantics *semantics =
                 type.code == kDLBfloat ? &llvm::APFloat::BFloat() : semanticsOf(type)) {
    llvm::APFloat number(value);
    bool inexact;
    number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(to, &bits, size_t(type.bits / 8));
  }
}

void moveElements(DLDataType type, char *bytes, int64_t count, double step, std::mt19937_64 &random) {
  if (type.code != kDLFloat && type.code != kDLBfloat)
    return;
  std::uniform_real_distribution<double> uniform(-step, step);
  int64_t width = type.bits / 8;
  for (int64_t i = 0; i < count; ++i) {
    double value = numberAt(type, bytes, i);
    char moved[8];
    writeElement(type, moved, value * (1 + uniform(random)));
    if (std::isfinite(value) && std::isfinite(numberAt(type, moved, 0)))
      std::memcpy(bytes + i * width, moved, size_t(width));
  }
}

//===------------------------------------------------------------------------------------------===//
// Spread
//===------------------------------------------------------------------------------------------===//

static bool sameForm(const Array &a, const Array &b) {
  return a.shape == b.shape && a.type.code == b.type.code && a.type.bits == b.type.bits &&
         a.bytes.size() == b.bytes.size();
}

static bool sameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void Spread::add(const Array &moved, const Array &want) {
  if (!sameForm(moved, want)) {
    shape = true;
    return;
  }
  far.resize(size_t(want.elements()), 0);
  for (size_t i = 0; i < far.size(); ++i) {
    double a = elementAt(moved, int64_t(i)), b = elementAt(want, int64_t(i));
    float distance = sameNumber(a, b) ? 0 : float(std::abs(a - b));
    // If an element is infinite or NaN in a run with perturbed inputs, any result is accepted for
    // this element.
    far[i] = std::max(far[i], std::isnan(distance) ? HUGE_VALF : distance);
  }
}

double Spread::median() const {
  std::vector<float> moving;
  std::copy_if(far.begin(), far.end(), std::back_inserter(moving), [](float f) { return f > 0 && std::isfinite(f); });
  if (moving.empty())
    return 0;
  auto middle = moving.begin() + std::ptrdiff_t(moving.size() / 2);
  std::nth_element(moving.begin(), middle, moving.end());
  return *middle;
}

double Spread::largest() const { return far.empty() ? 0 : *std::max_element(far.begin(), far.end()); }

//===------------------------------------------------------------------------------------------===//
// Comparing
//===------------------------------------------------------------------------------------------===//

/// Prints an element with enough digits to distinguish all values of its type.
static std::string numberText(const Array &array, int64_t i) {
  if (isFloating(array.type)) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.*g", array.type.bits == 64 ? 17 : 9, elementAt(array, i));
    return text;
  }
  if (array.type.bits == 64) {
    int64_t value;
    std::memcpy(&value, array.bytes.data() + i * 8, 8);
    return array.type.code == kDLUInt ? std::to_string(uint64_t(value)) : std::to_string(value);
  }
  return std::to_string(int64_t(elementAt(array, i)));
}

namespace {

/// Computes the error bound of an element.
struct Bounds {
  double relative, absolute;
  const Spread *spread;
  double typical; // median of the spread; 0 for integers

  double of(double want, int64_t i) const {
    double plain = relative * std::abs(want) + absolute;
    return spread ? std::max({plain, kSpreads * spread->of(i), kSpreads * typical}) : plain;
  }
};

} // namespace

static Bounds boundsFor(const Array &want, const Tolerance &tolerance, const Spread *spread) {
  if (tolerance.relative)
    return {*tolerance.relative, tolerance.absolute, nullptr, 0};
  double step = stepOf(want.type, tolerance), largest = 0;
  for (int64_t i = 0, e = step > 0 ? want.elements() : 0; i < e; ++i)
    if (double size = std::abs(elementAt(want, i)); std::isfinite(size))
      largest = std::max(largest, size);
  bool wide = step > kWideStep;
  // The spread of integers has no median, because the median is taken over the elements that change
  // under perturbation, and most integers do not.
  return {step * (wide ? kWideOwnSteps : kOwnSteps), step * (wide ? kWideLargestSteps : kLargestSteps) * largest,
          spread, spread && step > 0 ? spread->median() : 0};
}

static std::vector<int64_t> indexOf(int64_t linear, const std::vector<int64_t> &shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; linear /= shape[d])
    index[d] = linear % shape[d];
  return index;
}

/// Returns true if the differences may result from rounding: compared with the perturbed runs, at
/// most twice as many elements differ, by at most twice the largest change.
static bool isAsMoved(const Array &want, const Difference &found, const Bounds &plain, const Spread &spread) {
  int64_t moving = 0;
  for (int64_t i = 0; i < found.elements; ++i)
    moving += spread.of(i) > plain.of(elementAt(want, i), i);
  return found.notFinite == 0 && found.differing <= 2 * moving && found.largest <= 2 * spread.largest();
}

Difference compare(const Array &got, const Array &want, const Tolerance &tolerance, const Spread *spread) {
  Difference found;
  found.elements = want.elements();
  if (!sameForm(got, want)) {
    found.forms =
        dataTypeText(got.type) + " " + shapeText(got) + " for " + dataTypeText(want.type) + " " + shapeText(want);
    found.kind = spread && spread->movesShape() ? Difference::Kind::Rounding : Difference::Kind::Differs;
    return found;
  }
  Bounds bounds = boundsFor(want, tolerance, spread), plain = bounds;
  plain.spread = nullptr;
  double size = 0, errorAt = -1;
  bool rounding = false;
  int64_t width = want.elementBytes();
  for (int64_t i = 0; i < found.elements; ++i) {
    double a = elementAt(got, i), b = elementAt(want, i);
    if (std::isfinite(b))
      size = std::max(size, std::abs(b));
    bool exact = isFloating(want.type) ? sameNumber(a, b)
                                       : std::memcmp(&got.bytes[i * width], &want.bytes[i * width], width) == 0;
    if (exact)
      continue;
    bool finite = std::isfinite(a) && std::isfinite(b);
    double error = finite ? std::abs(a - b) : HUGE_VAL;
    if (finite)
      found.largest = std::max(found.largest, error);
    bool within = finite && error <= plain.of(b, i);
    if (within && (isFloating(want.type) || tolerance.relative))
      continue;
    if (error <= bounds.of(b, i) && spread && (spread->of(i) > 0 || finite)) {
      rounding = true;
      continue;
    }
    ++found.differing;
    found.notFinite += !finite;
    if (error > errorAt) {
      errorAt = error;
      found.where = indexOf(i, want.shape);
      found.got = numberText(got, i);
      found.want = numberText(want, i);
    }
  }
  found.share = size > 0 ? found.largest / size : 0;
  if (found.differing && !(spread && isAsMoved(want, found, plain, *spread)))
    found.kind = Difference::Kind::Differs;
  else if (found.differing || rounding)
    found.kind = Difference::Kind::Rounding;
  return found;
}

std::string describe(const Difference &found) {
  if (!found.forms.empty())
    return found.forms;
  std::string index;
  for (int64_t i : found.where)
    index += (index.empty() ? "" : ", ") + std::to_string(i);
  std::string text = std::to_string(found.differing) + " of " + std::to_string(found.elements) + " elements";
  if (found.notFinite)
    text += ", " + std::to_string(found.notFinite) + " of them NaN or infinite on one side only";
  if (found.largest > 0)
    llvm::raw_string_ostream(text) << llvm::format(", by up to %.3g (%.2g of the largest)", found.largest, found.share);
  return text + ", at [" + index + "]: " + found.got + " for " + found.want;
}

} // namespace hewn::tool
