// SPDX-License-Identifier: Apache-2.0
//
// Emits the elements of values inside of a kernel.
//
// A kernel is a graph of ops whose leaves are buffers. Kernel generators read the element of any
// value at an index. ElementEmitter loads leaves from memory and evaluates ops recursively through
// their op interfaces, so that a sequence of elementwise ops becomes straight-line code after its
// loads. Generators bind values (accumulators, finished reductions) that are computed already,
// which ends the recursion.
#ifndef HEWN_LIB_CODEGEN_ELEMENTEMITTER_H
#define HEWN_LIB_CODEGEN_ELEMENTEMITTER_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace hewn::codegen {

/// A tensor in memory: a 1-D memref of its storage type, and the mapping from indices to offsets.
struct Buffer {
  mlir::Value memref;
  mlir::Type elementType;
  graph::Dims dims;
  /// The buffer's strides: number of elements between adjacent indices of each logical dim.
  graph::Dims strides;
  /// The buffer's dim that is split into blocks of `block` contiguous elements, or -1. Index i of
  /// this dim has the offset (i / block) * strides[dim] + i % block.
  int64_t blockDim = -1, block = 1;
  /// The buffer's dim whose adjacent elements are stored in groups of `group`, or -1. Index i of
  /// this dim has the offset (i / group) * strides[dim] + i % group. Adjacent elements of the
  /// blocked dim are then `group` apart.
  int64_t groupDim = -1, group = 1;
  /// Offset of the tensor's first element in the memref, of index type, or null if it is 0.
  mlir::Value start = nullptr;
};

/// Returns the type in which an element is stored: bools are stored as bytes, integers are
/// signless.
mlir::Type storageType(mlir::Type elementType);
/// Returns the logical dims of a buffer from outermost to innermost in memory.
llvm::SmallVector<int64_t> memoryOrder(mlir::Value tensor);
Buffer describeBuffer(mlir::Value memref, mlir::RankedTensorType type, llvm::ArrayRef<graph::DimExpr> dims);

class ElementEmitter : public graph::ElementBuilder {
public:
  /// `symbols` has the values of the kernel's symbols, `buffers` the buffers of its arguments and
  /// results.
  ElementEmitter(mlir::OpBuilder &b, mlir::Location loc, int64_t lanes, const llvm::StringMap<mlir::Value> &symbols,
                 const llvm::DenseMap<mlir::Value, Buffer> &buffers)
      : ElementBuilder(b, loc, lanes), buffers(buffers), symbols(symbols) {
    if (auto function = b.getInsertionBlock()->getParent()->getParentOfType<mlir::FunctionOpInterface>())
      home = &function.getFunctionBody().front();
  }

  mlir::Value read(mlir::Value tensor, llvm::ArrayRef<graph::Index> at) override;
  mlir::Value readIf(mlir::Value inside, mlir::Value tensor, llvm::ArrayRef<graph::Index> at,
                     mlir::Value fill) override;
  graph::Index extent(mlir::Value tensor, unsigned dim) override;
  graph::Index expression(const graph::DimExpr &expr) override;

  /// Stores an element of compute type in the lanes of the current mask. A scalar is broadcast to
  /// the lanes if the store is a vector store.
  void write(const Buffer &buffer, llvm::ArrayRef<graph::Index> at, mlir::Value element);
  mlir::Value load(const Buffer &buffer, llvm::ArrayRef<graph::Index> at);

  /// Makes reads of `tensor` return `element`, whatever their index.
  void bind(mlir::Value tensor, mlir::Value element) {
    bound[tensor] = element;
    forget();
  }
  void unbind(mlir::Value tensor) {
    bound.erase(tensor);
    forget();
  }
  /// Makes reads of `tensor` load from `buffer`, instead of evaluating the op that defines it.
  void bindBuffer(mlir::Value tensor, Buffer buffer) {
    spilled[tensor] = std::move(buffer);
    forget();
  }
  void unbindBuffer(mlir::Value tensor) {
    spilled.erase(tensor);
    forget();
  }
  /// Makes these indexing ops return the element of operand 0 at the same index.
  void assumeCopies(llvm::ArrayRef<mlir::Operation *> ops) {
    copies = {ops.begin(), ops.end()};
    forget();
  }
  /// Sets the mask of valid lanes (vector<lanes x i1>), or null if all lanes are valid. Loads and
  /// stores access no other lanes.
  void setMask(mlir::Value lanesThatExist) {
    mask = lanesThatExist;
    forget();
  }
  bool isMasked() const { return mask != nullptr; }
  /// Clears the cache of computed elements. Callers use it when the ops that computed these
  /// elements do not dominate the insertion point.
  void forget() { cache.clear(); }

  /// Returns the contraction's result element at index `at`, computed by loops over the reduction
  /// dims. The code is vectorized if an index varies by lane.
  mlir::Value contract(graph::ContractOpInterface op, llvm::ArrayRef<graph::Index> at);
  /// Returns the reduction's result element at index `at`, computed by loops over the reduced dims.
  mlir::Value reduce(graph::ReduceOpInterface op, llvm::ArrayRef<graph::Index> at);

  /// Emits nested loops over `extents` that carry `state`. The loops are fully unrolled if their
  /// total number of iterations is static and at most `unrollLimit`. `body` gets the indices and
  /// the state and returns the next state.
  llvm::SmallVector<mlir::Value>
  loopNest(llvm::ArrayRef<graph::DimExpr> extents, mlir::ValueRange state, int64_t unrollLimit,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>, mlir::ValueRange)> body);

  /// Emits a branch on `condition` with the code of `then` and `otherwise`.
  void branch(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  /// Emits a loop that runs `body` for begin, begin + step, and so on while less than `end`.
  void forEach(graph::Index begin, graph::Index end, int64_t step, llvm::function_ref<void(graph::Index)> body);

  /// Converts a linear index to one index per dim, for dims with the extents `counts`. The last dim
  /// varies fastest.
  llvm::SmallVector<graph::Index> unravel(graph::Index linear, llvm::ArrayRef<graph::DimExpr> counts);

  /// Return x + y and sum + x * y, rounded after each operation. Operands are floats or integers,
  /// scalars or vectors, all of one type.
  mlir::Value addElements(mlir::Value x, mlir::Value y);
  mlir::Value multiplyAdd(mlir::Value sum, mlir::Value x, mlir::Value y);

  /// Returns the value of `expr`, a linear expression over a contraction's iteration dims, at the
  /// given iteration.
  graph::Index affine(mlir::AffineExpr expr, llvm::ArrayRef<graph::Index> iteration);

  const llvm::StringMap<mlir::Value> &symbolValues() const { return symbols; }

  /// Returns the offset of the element at `at` in the buffer's memref.
  graph::Index offset(const Buffer &buffer, llvm::ArrayRef<graph::Index> at);
  /// Converts an element of compute type, or a vector of them, to storage type.
  mlir::Value toStorage(mlir::Value element, mlir::Type elementType);

protected:
  const llvm::DenseMap<mlir::Value, Buffer> &buffers;

private:
  mlir::Value evaluate(mlir::Value tensor, llvm::ArrayRef<graph::Index> at);
  mlir::Value elementwise(graph::ElementwiseOpInterface op, llvm::ArrayRef<graph::Index> at);
  /// Reads `tensor` at `at` under a mask that may have no enabled lane. Masks do not apply to
  /// scalar loads whose element is broadcast to all lanes. If the read has such loads, its code is
  /// put in a branch that runs if any lane is enabled.
  mlir::Value readWhereAny(mlir::Value tensor, llvm::ArrayRef<graph::Index> at);
  mlir::Value cumulated(graph::PrefixScanOpInterface op, llvm::ArrayRef<graph::Index> at);
  mlir::Value allLanes();
  /// Load a vector of a buffer's elements, in storage type: contiguous elements that start at `at`
  /// (loadNeighbours); elements with a small stride (loadSteps); or elements at arbitrary offsets
  /// within a range that a few loads cover (loadNear).
  mlir::Value loadNeighbours(const Buffer &buffer, mlir::Value at, mlir::Value lanesThatExist);
  mlir::Value loadSteps(const Buffer &buffer, graph::Index address);
  bool permutes(const Buffer &buffer);
  mlir::Value loadNear(const Buffer &buffer, graph::Index address);
  mlir::Value toCompute(mlir::Value stored, mlir::Type elementType);

  const llvm::StringMap<mlir::Value> &symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> bound;
  llvm::DenseMap<mlir::Value, Buffer> spilled;
  llvm::SmallPtrSet<mlir::Operation *, 4> copies;
  llvm::StringMap<mlir::Value> expressions;
  mlir::Value mask;
  /// True if a scalar was loaded and broadcast to all lanes since the current `readWhereAny` began.
  bool loadsOnePlace = false;
  using Key = std::pair<void *, llvm::SmallVector<std::pair<void *, int64_t>, 6>>;
  std::map<Key, mlir::Value> cache;
};

/// RAII scratch emission: ops that are emitted while an instance exists can be analyzed, and are
/// erased when it is destroyed.
class ScratchEmission {
public:
  ScratchEmission(mlir::OpBuilder &b, mlir::Location loc);
  ScratchEmission(const ScratchEmission &) = delete;
  ~ScratchEmission();
  /// Return an opaque value of a type, and an opaque index, about which nothing is known.
  mlir::Value any(mlir::Type type);
  graph::Index anyIndex() { return {any(b.getIndexType())}; }
  /// Returns the ops emitted since construction.
  llvm::iterator_range<mlir::Block::iterator> ops();

private:
  mlir::OpBuilder &b;
  mlir::Operation *mark;
};

} // namespace hewn::codegen

#endif
