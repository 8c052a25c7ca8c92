// SPDX-License-Identifier: Apache-2.0
//
// Code for one thread of a grid.
//
// Kernels of a machine with `#plan.grid` are launched on blocks of threads. What such code needs beyond loops are a few
// functions, which stay calls until the target makes instructions of them: so the same LLVM IR also runs on a CPU, where
// a test defines them.
//
//     i32 hewn.grid.thread(), hewn.grid.block(), hewn.grid.blocks()     this thread in its block, its block, all blocks
//     void hewn.grid.barrier(i32 0)                                     waits for all threads of the block
//     void hewn.grid.barrier.some(i32 1, i32 n)                         the same for the block's first n threads
//     i32 hewn.grid.counter.add(i64 at, i32 more)                       adds to a counter of all blocks, behind all that this thread has
//                                                                       seen or written; what it was
//     i32 hewn.grid.counter.read(i64 at)                                the counter, before all that this thread does next
//     void hewn.grid.warp.meet(i32 mask)                                the same for the warp's threads
//     i32 hewn.grid.shuffle(i32 mask, i32 value, i32 xor, i32 31)       the value of the lane `lane ^ xor` of the warp
//     {f32 x 4} hewn.grid.product(i32 x 4, i32 x 2, f32 x 4)            a warp's 16x8 matrix of sums += 16x8 times 8x8 words
//     {f32 x 4} hewn.grid.product.f16(i32 x 4, i32 x 2, f32 x 4)        the same of 16x16 times 16x8 float16s, two a word
//     {f32 x 4} hewn.grid.product.bf16(i32 x 4, i32 x 2, f32 x 4)       ... and of bfloat16s
//     {i32 x 4} hewn.grid.product.LEFT.RIGHT(i32 x 4, i32 x 2, i32 x 4)   ... and of integers u8 or s8, 16x32 times 32x8, four a word
//     {i32 x 4} hewn.grid.lines(i64 from)                               four matrices of eight lines of 16 bytes, spread over a warp
//     {i32 x 4} hewn.grid.lines.turned(i64 from)                        the same, each turned as one of 8x8 elements of 16 bits
//     void hewn.grid.copy16(i64 to, i64 from, i32 present)              16 bytes to shared memory, zeros behind those `present`
//     void hewn.grid.copy8, hewn.grid.copy4                             the same of so many bytes, at a multiple of them
//     void hewn.grid.copies.close()                                     the thread's copies so far are a group
//     void hewn.grid.copies.wait(i32 open)                              until all of its groups but the last `open` have landed
//     void hewn.grid.group.publish()                                    the thread's copies and stores so far are for products of groups
//     void hewn.grid.group.begin()                                      its sums are ready for them
//     {f32 x n/2} hewn.grid.group.product.TYPE.LEFT.RIGHT.n(i64 left, i64 right, i64 leftForm, i64 rightForm, f32 x n/2)
//                                                                       four warps' 64xn matrix of sums += 64xD times Dxn TYPEs (f16, bf16, f32;
//                                                                       u8u8, u8s8, s8u8, s8s8: integers, left and right, and sums are i32)
//     {f32 x n/2} hewn.grid.group.product.TYPE.r.RIGHT.n(i32 x 4, i64 right, i64 rightForm, f32 x n/2)
//                                                                       the same, of a left matrix that is in registers
//     void hewn.grid.group.close()                                      the warp's products so far are a set
//     {f32 x n/2} hewn.grid.group.wait.n(i32 open, f32 x n/2)           sums (of i32s `wait.i32.n`), when all of its sets but the last `open` are done
//     void hewn.grid.gate.init(i64 gate, i32 arrivals)                  eight bytes of shared memory are a gate from now on
//     void hewn.grid.gates.ready()                                      this thread has made its gates, before a barrier
//     void hewn.grid.gate.arrive(i64 gate)                              an arrival
//     void hewn.grid.gate.expect(i64 gate, i32 bytes)                   the same, and so many bytes are to come in this phase
//     void hewn.grid.gate.wait(i64 gate, i32 parity)                    until the last phase of this parity has ended
//     void hewn.grid.fetch.RANK(i64 to, ptr tensor, i32 x RANK, i64 gate)   a box of the tensor, from a place on, comes to shared memory
//     void hewn.grid.registers.keep(i32 n), hewn.grid.registers.take(i32 n)   a group's threads have n registers from now on: fewer, more
//
// A gate's phases are numbered from 0. One ends when all arrivals and expected bytes have come, and the next one begins; what a
// thread did before it arrived, and what was fetched, others see when they have waited. Before phase 0 ends, that of parity 1 has.
// The tensor (#plan.box) is an argument of the kernel. Places begin at its innermost dim, may be outside of it, and are zeros there.
// A fetched box lies in lines as groups' products read them, one a line of the box, without being published.
//
// Factors of `product` are float32s as bits, of which the leading eleven significant bits count. With lane = 4 g + t, a lane has
// of the left one the words (g, t), (g+8, t), (g, t+4), (g+8, t+4), of the right one (t, g), (t+4, g), of the sums (g, 2t),
// (g, 2t+1), (g+8, 2t), (g+8, 2t+1). Words of the right one go along the sum as those of the left one do.
//
// `lines`: lane 8 m + r says where line r of matrix m is; each lane gets of every matrix word t of line g, turned the elements
// (2t, g) and (2t+1, g). A copy lands in shared memory some time before a wait for its group ends, in any order; other threads
// see it behind a barrier after that.
//
// D is as many as 32 bytes have; f32s and integers lie along the sum, and f32s are factors as those of `product`. Groups are warps 4 i
// to 4 i + 3 of a block. Warp w of a group has rows 16 w to 16 w + 15 of its sums: a lane has for each eight columns, in turn, what it
// has of `product`'s. A group's product reads shared memory some time before a wait for its set ends, what
// was published before the last barrier. Until then its sums may only be passed to another product, or to a wait. LEFT and
// RIGHT: `k`, a matrix lies along the sum, or `m`, it lies along its rows (columns of the right one); `r`: each warp has its rows as
// those of `product`'s left matrix, in words that stay as they are until the wait. Lines of L = 128, 64 or 32
// bytes are in blocks of eight, of which line r (counted from a multiple of 8 L bytes of shared memory) has the 16 bytes number p
// at p ^ (r * L / 128) % (L / 16). Along the sum a line is a row, from the address on; blocks follow each other at one stride. Along
// the rows a line is a place along the sum, of L/2 rows; blocks again follow along the sum, and the next rows at another stride. FORM:
// that other stride / 16 << 16 | blocks' stride / 16 << 32 | (1, 2, 3 for 128, 64, 32 bytes) << 62.
#ifndef HEWN_LIB_CODEGEN_GRID_GRID_H
#define HEWN_LIB_CODEGEN_GRID_GRID_H

#include "lib/Codegen/KernelFunction.h"

namespace llvm {
class Function;
} // namespace llvm

namespace hewn::codegen {

inline constexpr llvm::StringLiteral kGridThread = "hewn.grid.thread";
inline constexpr llvm::StringLiteral kGridBlock = "hewn.grid.block";
inline constexpr llvm::StringLiteral kGridBlocks = "hewn.grid.blocks";
inline constexpr llvm::StringLiteral kGridBarrier = "hewn.grid.barrier";
inline constexpr llvm::StringLiteral kGridBarrierSome = "hewn.grid.barrier.some";
inline constexpr llvm::StringLiteral kGridCounterAdd = "hewn.grid.counter.add";
inline constexpr llvm::StringLiteral kGridCounterRead = "hewn.grid.counter.read";
inline constexpr llvm::StringLiteral kGridWarpMeet = "hewn.grid.warp.meet";
inline constexpr llvm::StringLiteral kGridShuffle = "hewn.grid.shuffle";
inline constexpr llvm::StringLiteral kGridProduct = "hewn.grid.product"; // ... and, but for float32, its types
inline constexpr llvm::StringLiteral kGridLines = "hewn.grid.lines";
inline constexpr llvm::StringLiteral kGridLinesTurned = "hewn.grid.lines.turned";
inline constexpr llvm::StringLiteral kGridCopy16 = "hewn.grid.copy16";
inline constexpr llvm::StringLiteral kGridCopy8 = "hewn.grid.copy8";
inline constexpr llvm::StringLiteral kGridCopy4 = "hewn.grid.copy4";
inline constexpr llvm::StringLiteral kGridCopiesClose = "hewn.grid.copies.close";
inline constexpr llvm::StringLiteral kGridCopiesWait = "hewn.grid.copies.wait";
inline constexpr llvm::StringLiteral kGridGroupPublish = "hewn.grid.group.publish";
inline constexpr llvm::StringLiteral kGridGroupBegin = "hewn.grid.group.begin";
inline constexpr llvm::StringLiteral kGridGroupProduct = "hewn.grid.group.product."; // ... and its types
inline constexpr llvm::StringLiteral kGridGroupClose = "hewn.grid.group.close";
inline constexpr llvm::StringLiteral kGridGroupWait = "hewn.grid.group.wait."; // ... and its columns
inline constexpr llvm::StringLiteral kGridGateInit = "hewn.grid.gate.init";
inline constexpr llvm::StringLiteral kGridGatesReady = "hewn.grid.gates.ready";
inline constexpr llvm::StringLiteral kGridGateArrive = "hewn.grid.gate.arrive";
inline constexpr llvm::StringLiteral kGridGateExpect = "hewn.grid.gate.expect";
inline constexpr llvm::StringLiteral kGridGateWait = "hewn.grid.gate.wait";
inline constexpr llvm::StringLiteral kGridFetch = "hewn.grid.fetch."; // ... and its rank
inline constexpr llvm::StringLiteral kGridRegistersKeep = "hewn.grid.registers.keep";
inline constexpr llvm::StringLiteral kGridRegistersTake = "hewn.grid.registers.take";

/// Calls such a function, which is declared in the module where it is not yet.
mlir::ValueRange callGrid(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
                          mlir::TypeRange results);

/// Tells LLVM what it may do with a declared function of the grid; false: it is none.
bool describeGridFunction(llvm::Function &function);

/// The memory space of a block's shared memory.
inline constexpr int64_t kSharedSpace = 3;

/// At the end of a kernel: says what shared memory its blocks have (plan.block_bytes). Where that is more than a block has without asking, all of
/// it becomes one, which each block is given when launched (plan.shared_bytes).
void gatherShared(KernelFunction &k);

/// A kernel on its way to a grid: one nest after another, each spread over all of its threads.
class Grid {
public:
  /// `threads`: of a block, a multiple of the warp.
  Grid(KernelFunction &k, KernelElements &e, int64_t threads);

  const int64_t threads, warp;
  /// Positions of index type.
  mlir::Value thread, block, blocks;

  /// Says that a thread wants about so many registers, where these are more than few.
  void wantRegisters(int64_t count);
  /// Says that the kernel wants so many blocks; of several nests the largest counts. Any number gives the same results.
  void wantBlocks(const graph::DimExpr &count);
  /// `body` at every index of `counts`, each by one thread; neighbours along the last dim by neighbouring threads.
  void overThreads(llvm::ArrayRef<graph::DimExpr> counts, llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);
  /// `body` at every item of [0, count), each by all threads of one block: it may wait at barriers.
  void overBlocks(const graph::DimExpr &count, llvm::function_ref<void(graph::Index)> body);
  /// The same, carrying values from one item of the block to the next, on no more blocks than `most`.
  llvm::SmallVector<mlir::Value>
  overBlocks(const graph::DimExpr &count, int64_t most, llvm::ArrayRef<mlir::Value> start,
             llvm::function_ref<llvm::SmallVector<mlir::Value>(graph::Index, mlir::ValueRange)> body);
  /// The two loops' common form: from, from + step, ... below `to`.
  void stride(graph::Index from, graph::Index to, graph::Index step, llvm::function_ref<void(graph::Index)> body);

  void barrier();
  /// Waits for the warp's threads, which then see what each has done.
  void meetWarp();
  /// The value of another lane of the warp; of any type that elements are computed in.
  mlir::Value shuffle(mlir::Value value, int64_t laneXor);
  /// `sums` plus the product of the warp's two matrices of each lane's parts. `factors` of both: float32, float16, bfloat16, or
  /// each of them i8 or ui8, whose sums are i32.
  llvm::SmallVector<mlir::Value> product(mlir::Type leftFactors, mlir::Type rightFactors,
                                         llvm::ArrayRef<mlir::Value> left, llvm::ArrayRef<mlir::Value> right,
                                         llvm::ArrayRef<mlir::Value> sums);
  /// Four words of the warp's matrices in shared memory; `from`: the address of this lane's line.
  llvm::SmallVector<mlir::Value> lines(graph::Index from, bool turned);
  /// Sends `bytes` (16, 8, 4) on their way from memory to shared memory; zeros instead where `inside` does not hold.
  void copy(graph::Index to, graph::Index from, int64_t bytes, mlir::Value inside);
  /// A matrix in shared memory as a group's product reads it; strides and the length of a line in bytes.
  struct Matrix {
    graph::Index address;
    bool alongSum;
    int64_t lineBytes, blockStride, panelStride;
  };
  /// What shared memory must begin at a multiple of for matrices, in bytes.
  static constexpr int64_t kMatrixAlignment = 1024;
  /// Before the barrier that lets groups read what this thread has written, and before products of sums that were not theirs.
  void publishToGroups();
  void beginGroup();
  /// `sums` of this thread, under way from now on, plus the product of the group's matrices of factors as those of `product`.
  llvm::SmallVector<mlir::Value> groupProduct(mlir::Type leftFactors, mlir::Type rightFactors, const Matrix &left,
                                              const Matrix &right, llvm::ArrayRef<mlir::Value> sums);
  /// The same of a left matrix in registers: this lane's four words, as for `product`.
  llvm::SmallVector<mlir::Value> groupProduct(mlir::Type factors, llvm::ArrayRef<mlir::Value> left, const Matrix &right,
                                              llvm::ArrayRef<mlir::Value> sums);
  void closeGroup();
  llvm::SmallVector<mlir::Value> waitForGroup(int64_t open, llvm::ArrayRef<mlir::Value> sums);
  /// Gates: an address of eight bytes in shared memory each.
  void makeGate(graph::Index gate, int64_t arrivals);
  void gatesAreReady();
  void arrive(graph::Index gate);
  void expect(graph::Index gate, int64_t bytes);
  void waitAtGate(graph::Index gate, graph::Index parity);
  /// A box of the kernel's argument `tensor` from place `at` on, the innermost dim first.
  void fetch(graph::Index to, mlir::Value tensor, llvm::ArrayRef<graph::Index> at, graph::Index gate);
  /// Of each thread of a group: fewer registers than the kernel began with, or more.
  void keepRegisters(int64_t count);
  void takeRegisters(int64_t count);
  /// Adds to a counter of all blocks, an address: behind what this thread has seen or written. What it was.
  mlir::Value count(graph::Index counter, mlir::Value more);
  void closeCopies();
  void waitForCopies(int64_t open);
  /// Where a buffer's or shared memory's first element is, in bytes.
  graph::Index address(mlir::Value memory);
  /// A block's memory for `elements` of `type`, as a memref in the shared space, at a multiple of `alignment` bytes; i1 is
  /// stored as i8.
  mlir::Value shared(int64_t elements, mlir::Type type, int64_t alignment = 16);
  void storeShared(mlir::Value value, mlir::Value memory, mlir::Value at);
  mlir::Value loadShared(mlir::Type type, mlir::Value memory, mlir::Value at);

private:
  KernelFunction &k;
  KernelElements &e;
  std::optional<graph::DimExpr> wanted;
  unsigned memories = 0;

  mlir::ValueRange call(llvm::StringRef name, mlir::ValueRange operands, mlir::TypeRange results);
  llvm::SmallVector<mlir::Value> groupProduct(llvm::StringRef factors, llvm::StringRef leftForm, bool rightAlongSum,
                                              llvm::SmallVector<mlir::Value> operands,
                                              llvm::ArrayRef<mlir::Value> sums);
  mlir::Value form(const Matrix &matrix);
  mlir::Value number(int32_t value);
  mlir::Value wide(graph::Index index);
  mlir::Value narrow(graph::Index index);
};

} // namespace hewn::codegen

#endif
