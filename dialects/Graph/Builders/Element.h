// SPDX-License-Identifier: Apache-2.0
//
// How an op of kind `move` writes one element of its result.
//
// Engines walk an iteration space and ask ops for elements. In vector code the
// innermost dim is spread over lanes, so an index is one number a lane. Most
// indices stay simple there: the same in every lane, or `base + stride * lane`;
// `Index` keeps that form as long as arithmetic allows, since a load at stride
// 1 is one instruction and an arbitrary one is a gather. An op writes its index
// arithmetic once; scalar code, vector code, shape analysis and the -O0 oracle
// all use it.
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_ELEMENT_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_ELEMENT_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn::graph {

/// A position along one dim: `base + stride * lane`, or any vector of positions
/// (`general`).
struct Index {
  mlir::Value base;   // index; vector<lanes x index> where general
  int64_t stride = 0; // 0: the same in every lane
  bool general = false;
  /// Where general and `span` is not 0: every lane's position is one of `span` from `low` (a scalar) on, so that a load of
  /// neighbours has them all.
  mlir::Value low = nullptr;
  int64_t span = 0;
  bool uniform() const { return !general && stride == 0; }
};

/// What `MoveOpInterface::getViewKind` answers.
enum class ViewKind { None, Reshape, Transpose };

/// What `CodedOpInterface::getCode` answers: each element is the number that `bits` bits of a 32-bit word say, times a scale and plus an
/// offset that `block` neighbours along the first dim share (without offsets the middle number is zero). A word holds neighbours along
/// that dim, lowest bits first.
struct Code {
  int64_t bits = 0, block = 0;
  /// Whether what the matrix is multiplied by may be rounded to 8 bits a block.
  bool roundsData = false;
  /// Of places in a table: whether all of its numbers are multiples of 1 / tableUnits, from tableLowest to tableHighest of them. Two pairs
  /// of products by bytes then have room in 16 bits.
  bool tableInBytes = false;
  static constexpr int64_t tableUnits = 32, tableLowest = -31, tableHighest = 32;
  /// Whether words hold whole numbers, and blocks whole words.
  bool isSound() const { return (bits == 2 || bits == 4 || bits == 8) && block > 0 && block % perWord() == 0; }
  /// Elements of a word.
  int64_t perWord() const { return 32 / bits; }
};

/// The type in which a tensor element is computed: f32 for the narrow floats,
/// signless integers otherwise.
mlir::Type computeType(mlir::Type elementType);

/// Whether elements of this float type lie in memory as bytes without a float type: those of less than a byte, and those
/// that have no zero to fill a vector with.
bool isHeldInByte(mlir::Type elementType);
/// Such an element (or a vector of them) as the byte that holds it, and back, in compute type.
mlir::Value toByte(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, mlir::Value element);
mlir::Value fromByte(mlir::OpBuilder &b, mlir::Location loc, mlir::Type elementType, mlir::Value byte);

class ElementBuilder {
public:
  /// `lanes` 0: scalar code.
  ElementBuilder(mlir::OpBuilder &b, mlir::Location loc, int64_t lanes) : b(b), loc(loc), lanes(lanes) {}
  virtual ~ElementBuilder();

  /// The element of `tensor` at `at`, in its compute type. Scalar where every
  /// index is uniform.
  virtual mlir::Value read(mlir::Value tensor, llvm::ArrayRef<Index> at) = 0;
  /// The same where `inside` (i1 or vector of i1) holds, else `fill`; nothing
  /// is read outside.
  virtual mlir::Value readIf(mlir::Value inside, mlir::Value tensor, llvm::ArrayRef<Index> at, mlir::Value fill) = 0;
  /// The dims of `tensor` as index values.
  virtual Index extent(mlir::Value tensor, unsigned dim) = 0;
  /// The value of an expression over symbols.
  virtual Index expression(const DimExpr &expr) = 0;

  Index constant(int64_t value);
  Index add(Index a, Index b);
  Index sub(Index a, Index b);
  Index mul(Index a, Index b);
  /// Division and remainder that round toward minus infinity; the divisor is
  /// uniform and positive.
  Index floorDiv(Index a, Index divisor);
  Index mod(Index a, Index divisor);
  Index min(Index a, Index b);
  Index max(Index a, Index b);
  /// a where `condition`, else b.
  Index select(mlir::Value condition, Index a, Index b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, Index a, Index b);
  /// A general index whose lanes ascend, from the first to the last by less than `span`: told where arithmetic does not show it.
  Index ascending(Index a, int64_t span);
  /// 0 <= a < extent.
  mlir::Value inBounds(Index a, Index extent);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);

  /// An integer element (of any width, signed) as a position, and back as an
  /// element of integer or float `type`.
  Index fromElement(mlir::Value element);
  mlir::Value toElement(Index index, mlir::Type type);

  /// Chooses between elements, spreading scalars over lanes as needed.
  mlir::Value selectElement(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// A scalar as a vector; a vector, or any value in scalar code, as it is.
  mlir::Value broadcast(mlir::Value value);
  /// Makes all values scalars or all vectors.
  void unify(llvm::MutableArrayRef<mlir::Value> values);
  /// A compute-type constant: `value` for floats, its integer part for
  /// integers.
  mlir::Value constantElement(mlir::Type elementType, double value);

  /// The subview of a concatenated or interleaved result that one operand makes, and the index at which it begins.
  struct Subview {
    unsigned operand;
    Index start;
  };
  /// From now on elements of `op` are asked for within this subview alone.
  void setSubview(mlir::Operation *op, Subview subview) { subviews[op] = subview; }
  std::optional<Subview> subviewOf(mlir::Operation *op) const {
    auto found = subviews.find(op);
    return found == subviews.end() ? std::nullopt : std::optional(found->second);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  const int64_t lanes;

protected:
  /// Where values that hold everywhere are made, once each: the function's first block; null: where they are used.
  mlir::Block *home = nullptr;
  mlir::Value vectorOf(Index index);
  mlir::VectorType vectorType(mlir::Type element) const { return mlir::VectorType::get({lanes}, element); }

private:
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::DenseMap<mlir::Operation *, Subview> subviews;
  Index binary(Index a, Index b, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> make);
  /// The same index, with its least position in `low`; `span` 0 where that is not known.
  Index bounded(Index index);
  Index quotientOfLanes(const Index &x, int64_t d, mlir::Value base);
  /// Whether it is known that no lane of x is more than any of y.
  bool isAtMost(const Index &x, const Index &y) const;
  /// Whether all lanes of the index fall into one run of `d` numbers from a multiple of `d` on.
  bool staysWithin(const Index &index, int64_t d) const;
};

} // namespace hewn::graph

#endif
