// SPDX-License-Identifier: Apache-2.0
//
// Elements of the values inside a kernel.
//
// A kernel is a graph of ops whose leaves are buffers. Engines ask for the element of any value at an index; this class
// reads leaves from memory and evaluates everything else by its kind, recursively, so that a chain of ops becomes
// straight code around one set of loads. It knows no op by name. Engines bind a value (an accumulator, a finished
// reduction) to short-cut the recursion.
#ifndef HEWN_LIB_CODEGEN_KERNELELEMENTS_H
#define HEWN_LIB_CODEGEN_KERNELELEMENTS_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace hewn::codegen {

/// A tensor in memory: a 1-D memref of its storage type, and how an index becomes an offset.
struct Buffer {
  mlir::Value memref;
  mlir::Type elementType;
  graph::Dims dims;
  /// Elements between neighbours along each logical dim.
  graph::Dims strides;
  /// A blocked dim's index i lies at (i / block) * strides[dim] + i % block.
  int64_t blockDim = -1, block = 1;
  /// A grouped dim's index i lies at (i / group) * strides[dim] + i % group, and the elements of a block are `group` apart.
  int64_t groupDim = -1, group = 1;
  /// The offset of the first element, of index type; null: 0.
  mlir::Value start = nullptr;
};

/// The type of one element in memory: bools are bytes, integers signless.
mlir::Type storageType(mlir::Type elementType);
/// Logical dims from outermost to innermost in memory.
llvm::SmallVector<int64_t> memoryOrder(mlir::Value tensor);
Buffer describeBuffer(mlir::Value memref, mlir::RankedTensorType type, llvm::ArrayRef<graph::DimExpr> dims);

class KernelElements : public graph::ElementBuilder {
public:
  /// `symbols`: the values of the kernel's symbols. `buffers`: the kernel's arguments and results.
  KernelElements(mlir::OpBuilder &b, mlir::Location loc, int64_t lanes, const llvm::StringMap<mlir::Value> &symbols,
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

  /// Stores a compute-type element (spread over lanes as needed) under the current mask.
  void write(const Buffer &buffer, llvm::ArrayRef<graph::Index> at, mlir::Value element);
  mlir::Value load(const Buffer &buffer, llvm::ArrayRef<graph::Index> at);

  /// From now on `tensor`'s element is `element`, whatever the index.
  void bind(mlir::Value tensor, mlir::Value element) {
    bound[tensor] = element;
    forget();
  }
  void unbind(mlir::Value tensor) {
    bound.erase(tensor);
    forget();
  }
  /// From now on `tensor` is read from `buffer` instead of being computed.
  void bindBuffer(mlir::Value tensor, Buffer buffer) {
    spilled[tensor] = std::move(buffer);
    forget();
  }
  void unbindBuffer(mlir::Value tensor) {
    spilled.erase(tensor);
    forget();
  }
  /// Lanes that exist (vector<lanes x i1>), or null for all. Loads and stores touch no others.
  void setMask(mlir::Value lanesThatExist) {
    mask = lanesThatExist;
    forget();
  }
  bool isMasked() const { return mask != nullptr; }
  /// Elements computed so far are not visible at the new insertion point.
  void forget() { cache.clear(); }

  /// a*b + c over the contraction's reduction dims at the result index `at`, lanes along whichever index varies.
  mlir::Value contract(graph::ContractOpInterface op, llvm::ArrayRef<graph::Index> at);
  /// The reduction at result index `at`, by loops over the reduced dims inside the current code.
  mlir::Value reduce(graph::ReduceOpInterface op, llvm::ArrayRef<graph::Index> at);

  /// Nested loops over `extents`, carrying `state`; constant extents whose product is at most `unrollLimit` become
  /// straight code. `body` gets the indices and the state and returns the next state.
  llvm::SmallVector<mlir::Value>
  loopNest(llvm::ArrayRef<graph::DimExpr> extents, mlir::ValueRange state, int64_t unrollLimit,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>, mlir::ValueRange)> body);

  /// `then` where `condition` holds, else `otherwise`.
  void branch(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  /// `body` at begin, begin + step, ... before `end`.
  void forEach(graph::Index begin, graph::Index end, int64_t step, llvm::function_ref<void(graph::Index)> body);

  /// A number of `counts`' product as an index in dims of these extents, the last one fastest.
  llvm::SmallVector<graph::Index> unravel(graph::Index linear, llvm::ArrayRef<graph::DimExpr> counts);

  /// x + y and sum + x * y, rounded after each operation, of floats or integers, of scalars or vectors, all of one type.
  mlir::Value addElements(mlir::Value x, mlir::Value y);
  mlir::Value multiplyAdd(mlir::Value sum, mlir::Value x, mlir::Value y);

  /// A linear expression over the iteration dims of a contraction, at an iteration.
  graph::Index affine(mlir::AffineExpr expr, llvm::ArrayRef<graph::Index> iteration);

  const llvm::StringMap<mlir::Value> &symbolValues() const { return symbols; }

  /// Elements from the buffer's first one to the one at `at`.
  graph::Index offset(const Buffer &buffer, llvm::ArrayRef<graph::Index> at);
  /// An element of compute type, or a vector of them, as memory holds it.
  mlir::Value toStorage(mlir::Value element, mlir::Type elementType);

protected:
  const llvm::DenseMap<mlir::Value, Buffer> &buffers;

private:
  mlir::Value evaluate(mlir::Value tensor, llvm::ArrayRef<graph::Index> at);
  mlir::Value elementwise(graph::ElementwiseOpInterface op, llvm::ArrayRef<graph::Index> at);
  /// `tensor` at `at` under a mask that may have no lane. A load of one place for all lanes has no mask: what has such loads is read behind a
  /// branch, where there is a lane.
  mlir::Value readWhereAny(mlir::Value tensor, llvm::ArrayRef<graph::Index> at);
  mlir::Value cumulated(graph::CumulateOpInterface op, llvm::ArrayRef<graph::Index> at);
  mlir::Value allLanes();
  /// Vectors of a buffer's elements, in storage type: neighbours from `at` on; every second, third, ... at a stride; any of a
  /// range that a few loads have.
  mlir::Value loadNeighbours(const Buffer &buffer, mlir::Value at, mlir::Value lanesThatExist);
  mlir::Value loadSteps(const Buffer &buffer, graph::Index address);
  bool permutes(const Buffer &buffer);
  mlir::Value loadNear(const Buffer &buffer, graph::Index address);
  mlir::Value toCompute(mlir::Value stored, mlir::Type elementType);

  const llvm::StringMap<mlir::Value> &symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> bound;
  llvm::DenseMap<mlir::Value, Buffer> spilled;
  llvm::StringMap<mlir::Value> expressions;
  mlir::Value mask;
  /// Whether one place was loaded for all lanes since `readWhereAny` began.
  bool loadsOnePlace = false;
  using Key = std::pair<void *, llvm::SmallVector<std::pair<void *, int64_t>, 6>>;
  std::map<Key, mlir::Value> cache;
};

/// Ops that are made to be looked at, and are gone when this is: what a kernel does at a place is known once it is written down.
class Trial {
public:
  Trial(mlir::OpBuilder &b, mlir::Location loc);
  Trial(const Trial &) = delete;
  ~Trial();
  /// A place that nothing is known of.
  graph::Index anyIndex();
  /// What has been made since.
  llvm::iterator_range<mlir::Block::iterator> ops();

private:
  mlir::OpBuilder &b;
  mlir::Operation *mark;
};

} // namespace hewn::codegen

#endif
