// SPDX-License-Identifier: Apache-2.0
//
// Compares two computations of a value, to find out if they differ by more than rounding.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKCOMPARE_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKCOMPARE_H

#include "lib/Support/Precision.h"
#include "lib/Tools/Models/Npy.h"
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hewn::tool {

/// Error bounds. If `relative` is set by the user, it replaces the default bounds of the type.
struct Tolerance {
  std::optional<double> relative;
  double absolute = 0;
  /// Relative step to which float32 multiplications round their operands, if their precision is
  /// lower than float32, else 0.
  double productStep = 0;
};

/// Parses "RELATIVE[,ABSOLUTE]". Returns false if the text is invalid.
bool parseTolerance(llvm::StringRef text, Tolerance &tolerance);
/// Returns the relative step to which float32 multiplications of this precision round their
/// operands: that of float32 (24 significand bits), of a sum of two bfloat16 numbers, or of one
/// bfloat16 number.
double productStep(Precision precision);

bool isFloating(DLDataType type);
/// Returns true if .npy files can hold the type.
bool isStorable(DLDataType type);
/// Returns the element of `array` at the linear index `i` as a double.
double elementAt(const Array &array, int64_t i);
/// Writes a number as an element of a floating-point type.
void writeElement(DLDataType type, char *to, double value);
/// Returns the relative distance of neighboring numbers of a floating-point type, or 0 for
/// integers.
double stepOf(DLDataType type, const Tolerance &tolerance);
/// Perturbs each floating-point element by a random relative amount in [-step, step]. Does not
/// change infinities, NaNs, and elements that would become infinite.
void moveElements(DLDataType type, char *bytes, int64_t count, double step, std::mt19937_64 &random);

/// The change of each element of a value when the inputs and weights that the value is computed
/// from are perturbed by a few steps of their type. This change estimates the effect of rounding.
class Spread {
public:
  void add(const Array &moved, const Array &want);
  /// Return the change of element `i`, the median of the nonzero finite changes, and the largest
  /// change.
  double of(int64_t i) const { return far.empty() ? 0 : far[i]; }
  double median() const;
  double largest() const;
  /// Returns true if the shape of the value differs between runs with and without perturbation.
  bool movesShape() const { return shape; }
  bool empty() const { return far.empty() && !shape; }

private:
  std::vector<float> far;
  bool shape = false;
};

struct Difference {
  enum class Kind { None, Rounding, Differs } kind = Kind::None;
  /// The types and shapes of both computations as text if they differ, else empty.
  std::string forms;
  int64_t elements = 0, differing = 0;
  /// Number of differing elements that are NaN or infinite in only one of the two computations.
  int64_t notFinite = 0;
  /// Largest absolute error, and its ratio to the largest element of the value.
  double largest = 0, share = 0;
  std::vector<int64_t> where;
  std::string got, want;
};

Difference compare(const Array &got, const Array &want, const Tolerance &tolerance, const Spread *spread = nullptr);
/// Returns, for example, "12 of 200704 elements, by up to 0.031 (0.012 of the largest), at [0, 3]:
/// 2.5 for 2.6".
std::string describe(const Difference &difference);

} // namespace hewn::tool

#endif
