// SPDX-License-Identifier: Apache-2.0
//
// Two computations of one value beside each other: whether they differ by more than rounding.
#ifndef HEWN_TOOLS_HEWN_CHECK_CHECKCOMPARE_H
#define HEWN_TOOLS_HEWN_CHECK_CHECKCOMPARE_H

#include "lib/Support/Precision.h"
#include "tools/hewn/Arrays/Npy.h"
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hewn::tool {

/// How far apart elements may be. A user's bounds replace the rule that goes by type.
struct Tolerance {
  std::optional<double> relative;
  double absolute = 0;
  /// The smallest step of float32 products, where their precision is less than the type's.
  double productStep = 0;
};

/// Reads "RELATIVE[,ABSOLUTE]"; false where it is none.
bool parseTolerance(llvm::StringRef text, Tolerance &tolerance);
/// The smallest step of a product: of float32's 24 bits, of two terms of bfloat16, of one.
double productStep(Precision precision);

bool isFloating(DLDataType type);
/// Whether hewn's files of arrays can hold it.
bool isStorable(DLDataType type);
/// An element as a number.
double elementAt(const Array &array, int64_t i);
/// Writes a number as an element of a floating type.
void writeElement(DLDataType type, char *to, double value);
/// The relative distance of neighbors in a floating type.
double stepOf(DLDataType type, const Tolerance &tolerance);
/// Moves each floating element by up to some steps of its type, both ways; leaves what is no number, and what would become none.
void moveElements(DLDataType type, char *bytes, int64_t count, double step, std::mt19937_64 &random);

/// How far a value goes when what it is computed from is moved by a few steps: what rounding may make of it.
class Spread {
public:
  void add(const Array &moved, const Array &want);
  /// Of element `i`; of the median of those that move; of the largest.
  double of(int64_t i) const { return far.empty() ? 0 : far[i]; }
  double median() const;
  double largest() const;
  /// Whether the shape itself depends on it.
  bool movesShape() const { return shape; }
  bool empty() const { return far.empty() && !shape; }

private:
  std::vector<float> far;
  bool shape = false;
};

struct Difference {
  enum class Kind { None, Rounding, Differs } kind = Kind::None;
  /// Of types or shapes that differ.
  std::string forms;
  int64_t elements = 0, differing = 0;
  /// Of the differing elements, NaN or infinite on one side alone.
  int64_t notFinite = 0;
  /// The largest error, and as a share of the value's largest element.
  double largest = 0, share = 0;
  std::vector<int64_t> where;
  std::string got, want;
};

Difference compare(const Array &got, const Array &want, const Tolerance &tolerance, const Spread *spread = nullptr);
/// "12 of 200704 elements, by up to 0.031 (0.012 of the largest), at [0, 3]: 2.5 for 2.6"
std::string describe(const Difference &difference);

} // namespace hewn::tool

#endif
