// SPDX-License-Identifier: Apache-2.0
//
// `ElementBuilder`, through which an indexing op emits the computation of one element of its
// result.
//
// A kernel generator walks an iteration space and requests elements from ops. In vector code, the
// innermost dim of the space is mapped to vector lanes, so an index has a value for each lane. Most
// indices have equal values in all lanes, or the form `base + stride * lane`. `Index` keeps this
// form as long as the arithmetic allows, because a load with stride 1 is one instruction, and a
// load from arbitrary indices is a gather. Scalar code, vector code, shape analysis and the -O0
// oracle all use the same index arithmetic, which an op emits through this interface.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_ELEMENT_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_ELEMENT_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn::graph {

/// An index along one dim: `base + stride * lane`, or a vector of arbitrary indices (`general`).
struct Index {
  mlir::Value base;   // a scalar index, or a vector<lanes x index> if `general` is set
  int64_t stride = 0; // step from lane to lane; 0 if the index is equal in all lanes
  bool general = false;
  /// If `general` is set and `span` is not 0: the scalar `low` is a lower bound of the lanes, and
  /// all lanes are below low + span, so that one contiguous load covers them.
  mlir::Value low = nullptr;
  int64_t span = 0;
  bool uniform() const { return !general && stride == 0; }
};

/// How the result of an indexing op is a view of its operand (`IndexingOpInterface::getViewKind`).
enum class ViewKind { None, Reshape, Transpose };

/// Encoding of packed low-bit weights (`PackedWeightsOpInterface::getCode`). A weight is a
/// `bits`-bit field of a 32-bit word, times a scale, plus an offset. Each `block` weights that are
/// neighbors along the matrix's first dim have one scale and one offset. Without offsets, the
/// midpoint of the field's range represents zero. A word holds weights that are neighbors along the
/// first dim, starting at its lowest bits.
struct WeightEncoding {
  int64_t bits = 0, block = 0;
  /// True if activations may be rounded to 8 bits, with one scale per block, before they are
  /// multiplied by these weights.
  bool roundsData = false;
  /// True if every entry of the lookup table is a multiple of 1 / tableUnits, from tableLowest to
  /// tableHighest units. Entries then fit in bytes, and the sum of two pairs of byte
  /// multiplications fits in 16 bits.
  bool tableInBytes = false;
  static constexpr int64_t tableUnits = 32, tableLowest = -31, tableHighest = 32;
  /// Returns true if no weight's bit field is split between two words, and no word between two
  /// blocks.
  bool isSound() const { return (bits == 2 || bits == 4 || bits == 8) && block > 0 && block % perWord() == 0; }
  /// Returns the number of weights in a 32-bit word.
  int64_t perWord() const { return 32 / bits; }
};

/// Returns the type in which code computes with elements of a tensor's element type: f32 for floats
/// with fewer than 32 bits, signless integers for integers.
mlir::Type computeType(mlir::Type elementType);

/// Returns true if vectors of this float type are stored as vectors of bytes. This is the case for
/// types below 8 bits, and for types that have no zero, which a vector of floats would be filled
/// with.
bool isHeldInByte(mlir::Type elementType);
/// Convert an element of a float type that vectors store as bytes (or a vector of elements) from
/// its compute type to bytes, and back.
mlir::Value toByte(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, mlir::Value element);
mlir::Value fromByte(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, mlir::Value byte);

class ElementBuilder {
public:
  /// Creates a builder that emits code for `lanes` vector lanes, or scalar code if `lanes` is 0.
  ElementBuilder(mlir::OpBuilder &b, mlir::Location loc, int64_t lanes) : b(b), loc(loc), lanes(lanes) {}
  virtual ~ElementBuilder();

  /// Returns the element of `tensor` at index `at`, converted to the compute type. The result is a
  /// scalar if all lanes of every index are equal, else a vector.
  virtual mlir::Value read(mlir::Value tensor, llvm::ArrayRef<Index> at) = 0;
  /// Returns the element of `tensor` at index `at` in lanes where `inside` is true, and `fill` in
  /// all other lanes, for which memory is not accessed. `inside` is an i1 or a vector of i1.
  virtual mlir::Value readIf(mlir::Value inside, mlir::Value tensor, llvm::ArrayRef<Index> at, mlir::Value fill) = 0;
  /// Returns the size of dim `dim` of `tensor`.
  virtual Index extent(mlir::Value tensor, unsigned dim) = 0;
  /// Returns the value of a dim expression as an index.
  virtual Index expression(const DimExpr &expr) = 0;

  Index constant(int64_t value);
  Index add(Index a, Index b);
  Index sub(Index a, Index b);
  Index mul(Index a, Index b);
  /// Emit a division or remainder of indices that rounds toward minus infinity. The divisor is
  /// positive and equal in all lanes.
  Index floorDiv(Index a, Index divisor);
  Index mod(Index a, Index divisor);
  Index min(Index a, Index b);
  Index max(Index a, Index b);
  /// Returns index a where `condition` is true, else index b.
  Index select(mlir::Value condition, Index a, Index b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, Index a, Index b);
  /// Returns the index `a` as a general index. The caller guarantees what the arithmetic does not
  /// show: its lanes ascend, and the last lane minus the first one is less than `span`.
  Index ascending(Index a, int64_t span);
  /// Emits the condition that index a is in [0, extent).
  mlir::Value inBounds(Index a, Index extent);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);

  /// Convert an element of a signed integer type to an index, and an index to an element of the
  /// integer or float type `type`.
  Index fromElement(mlir::Value element);
  mlir::Value toElement(Index index, mlir::Type type);

  /// Emits a select between two elements. Broadcasts scalars if another operand is a vector.
  mlir::Value selectElement(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Broadcasts a scalar to all lanes. Returns `value` unchanged if it is a vector, or in scalar
  /// code.
  mlir::Value broadcast(mlir::Value value);
  /// Broadcasts all scalars among the values to vectors if at least one of the values is a vector.
  void unify(llvm::MutableArrayRef<mlir::Value> values);
  /// Returns a constant in the compute type of `elementType`. For integer types, `value` is
  /// truncated to an integer.
  mlir::Value constantElement(mlir::Type elementType, double value);

  /// The subview of a concatenated or interleaved result that operand number `operand` fills, and
  /// the index at which it starts.
  struct Subview {
    unsigned operand;
    Index start;
  };
  /// Declares that all result elements of `op`, a concat or interleave op, that are requested from
  /// now on are in this subview.
  void setSubview(mlir::Operation *op, Subview subview) { subviews[op] = subview; }
  std::optional<Subview> subviewOf(mlir::Operation *op) const {
    auto found = subviews.find(op);
    return found == subviews.end() ? std::nullopt : std::optional(found->second);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  const int64_t lanes;

protected:
  /// The entry block of the emitted function, in which index constants are created once for all
  /// their uses. If null, constants are created at each use.
  mlir::Block *home = nullptr;
  mlir::Value vectorOf(Index index);
  mlir::VectorType vectorType(mlir::Type element) const { return mlir::VectorType::get({lanes}, element); }

private:
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::DenseMap<mlir::Operation *, Subview> subviews;
  Index binary(Index a, Index b, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> make);
  /// Sets `low` and `span` of an index, which bound its lanes. The span stays 0 if the range of the
  /// lanes is unknown.
  Index bounded(Index index);
  Index quotientOfLanes(const Index &x, int64_t d, mlir::Value base);
  /// Returns true if it is proven that no lane of the index x is greater than any lane of the index
  /// y.
  bool isAtMost(const Index &x, const Index &y) const;
  /// Returns true if it is proven that floor(index / d) is equal in all lanes.
  bool staysWithin(const Index &index, int64_t d) const;
};

} // namespace hewn::graph

#endif
