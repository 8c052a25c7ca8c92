// SPDX-License-Identifier: Apache-2.0
//
// Emits the body of a program. Values become pointers, symbols i64 values; what crosses the border of a region goes
// through variables on the stack, which LLVM turns into registers. ProgramEmitter.cpp has straight code,
// ProgramMemory.cpp where values lie, ProgramControl.cpp branches and loops.
#ifndef HEWN_LIB_CODEGEN_PROGRAMEMITTER_H
#define HEWN_LIB_CODEGEN_PROGRAMEMITTER_H

#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Program/Program.h"
#include "lib/Codegen/Program/ProgramExpressions.h"

namespace hewn::codegen {

class ProgramEmitter {
public:
  ProgramEmitter(mlir::func::FuncOp program, const ProgramInterface &interface, const KernelSymbols &kernels,
                 const WeightTable &table, Weights &weights, llvm::Module &module, DeviceKernels *device);
  mlir::FailureOr<llvm::Function *> emit();

private:
  using Slot = llvm::AllocaInst *;

  // ProgramEmitter.cpp
  void begin();
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  mlir::LogicalResult emitLaunch(plan::LaunchOp op);
  llvm::FunctionCallee kernelFunction(plan::LaunchOp op, llvm::ArrayRef<llvm::Value *> arguments);
  /// An expression of the launched kernel's function, which names `symbols`, over the program's symbols.
  mlir::FailureOr<graph::DimExpr> ofLaunch(plan::LaunchOp op, const graph::DimExpr &expr, mlir::ArrayAttr symbols);
  /// Runs a kernel's tasks on the context's threads.
  void callTasks(plan::LaunchOp op, llvm::SmallVector<llvm::Value *> arguments, const graph::DimExpr &tasks);
  /// The step of a loop, and how many tasks a kernel has there.
  struct Turn {
    llvm::Value *step, *tasks;
  };
  /// In a function that a thread calls: does the tasks that stand for `begin` to `end` in this step, some at a time where it is odd.
  void callByTurns(plan::LaunchOp op, llvm::ArrayRef<llvm::Value *> arguments, const Turn &turn, llvm::Value *begin,
                   llvm::Value *end);
  mlir::LogicalResult emitPart(graph::PartOpInterface op);
  llvm::Value *partParams(graph::PartOpInterface part);
  void fillPartTensor(llvm::Value *record, llvm::Value *data, mlir::RankedTensorType type,
                      llvm::ArrayRef<llvm::Value *> dims, llvm::Value *&dimsArray);
  mlir::LogicalResult emitReadSymbol(graph::ReadSymbolOp op);
  mlir::LogicalResult emitDimValue(graph::DimValueOp op);
  bool isMadeInOutput(mlir::Value value, unsigned output);
  mlir::LogicalResult emitReturn(mlir::Operation *op);
  // ProgramDevice.cpp
  void beginDevice();
  /// Whether the program does the same whenever its symbols are the same.
  bool isReplayable();
  /// Says which ranks hand each other something.
  void meetRanks();
  /// A kernel's argument for `box`, described anew at each launch; null where the attribute is not well written.
  llvm::Value *describeBox(plan::LaunchOp op, plan::BoxAttr box, mlir::ArrayAttr symbols,
                           llvm::ArrayRef<llvm::Value *> arguments);
  mlir::LogicalResult launchOnDevice(plan::LaunchOp op, llvm::ArrayRef<llvm::Value *> arguments);
  void copyAcross(plan::CopyOp op);
  void giveOutput(unsigned index, llvm::Value *memory, mlir::Value value);
  void deviceCopy(llvm::Value *to, llvm::Value *from, llvm::Value *bytes, int32_t direction);
  void failIfNotOk(llvm::Value *code);

  llvm::FunctionCallee service(llvm::StringRef name, llvm::Type *result, llvm::ArrayRef<llvm::Type *> arguments);
  llvm::Value *string(llvm::StringRef text);
  /// Leaves the program with this code.
  void failIf(llvm::Value *condition, llvm::Value *code);
  void failIfNull(llvm::Value *pointer);

  // ProgramMemory.cpp
  mlir::FailureOr<llvm::Value *> constantPointer(graph::ConstantOp op);
  /// The memory in which `op`'s result is made.
  llvm::Value *place(mlir::OpResult result);
  plan::PlaceAttr placeOf(mlir::OpResult result);
  llvm::Value *allocate(llvm::ArrayRef<graph::DimExpr> dims, mlir::RankedTensorType type, bool onDevice);
  llvm::Value *allocateBytes(llvm::Value *bytes, bool onDevice);
  void release(llvm::Value *memory, bool onDevice);
  /// Whether the value's memory is the device's.
  bool isOnDevice(mlir::Value value);
  /// The memory of an output, as the caller gave it or (where its size is known only here) allocated now. Loaded where it is used: pointers that
  /// are all loaded first lie on the stack, and LLVM takes the square of their number for it.
  llvm::Value *outputPointer(unsigned index);
  llvm::Value *allocateOutput(unsigned index, llvm::ArrayRef<graph::DimExpr> dims);
  llvm::Value *bytesOf(mlir::Value value);
  llvm::Value *value(const graph::DimExpr &expr) { return expressions.value(expr); }
  llvm::SmallVector<llvm::Value *> values(llvm::ArrayRef<graph::DimExpr> dims);
  llvm::Value *offset(llvm::Value *pointer, llvm::Value *bytes);
  /// In the memory that kernels use.
  void copy(llvm::Value *to, llvm::Value *from, llvm::Value *bytes);
  /// In the host's memory, by a function of the module: LLVM would write a copy of known size as loads and stores, and takes for thousands of
  /// these in one block, each of which might be of the other's memory, the square of their number.
  void copyByCall(llvm::Value *to, llvm::Value *from, llvm::Value *bytes);
  /// A variable of the function, made in its first block.
  Slot variable(llvm::Type *type, llvm::Value *count = nullptr);
  /// Where kernels and loops find the value, and where the host does.
  llvm::Value *pointer(mlir::Value value);
  llvm::Value *hostPointer(mlir::Value value);

  // Symbols
  /// Defines each symbol among `dims` that has no value yet as the actual size.
  void bind(llvm::ArrayRef<graph::DimExpr> dims, llvm::ArrayRef<llvm::Value *> actual);
  bool isBound(const graph::DimExpr &expr);
  llvm::Value *symbolValue(llvm::StringRef name);
  /// Ends the run where a requirement does not hold; `begun`: when kernels may have run.
  void emitRequirement(const graph::Requirement &requirement, llvm::StringRef node, bool begun);
  llvm::Value *makesNothing(plan::LaunchOp op);
  /// An op that says requirements and does nothing else.
  llvm::LogicalResult emitStatement(mlir::Operation *op);
  /// Ends the run where `graph.requires` does not hold.
  void emitRequirements();

  // ProgramControl.cpp
  struct Carried;
  struct Appended;
  mlir::LogicalResult emitBranches(graph::ControlOpInterface op);
  mlir::LogicalResult emitLoop(graph::ControlOpInterface op);
  void enterSlices(graph::ControlOpInterface op, llvm::Value *index, llvm::Value *length);
  mlir::LogicalResult emitStep(mlir::Block &body, llvm::function_ref<void()> handOver);
  Carried beginCarried(const graph::CarriedValue &value);
  void enterCarried(Carried &carried);
  void handOver(mlir::Operation *op, llvm::MutableArrayRef<Carried> carried);
  void finishCarried(Carried &carried);
  Appended beginAppended(mlir::OpResult result);
  void append(Appended &appended, mlir::Value slice, llvm::Value *step);
  void finishAppended(Appended &appended, llvm::Value *count);
  /// A loop's blocks; between `beginLoop` and `endLoop` stands the step.
  struct LoopBlocks {
    llvm::BasicBlock *head, *after;
    Slot step;
    llvm::Value *index;
  };
  LoopBlocks beginLoop(llvm::function_ref<llvm::Value *(llvm::Value *index)> goesOn);
  void endLoop(LoopBlocks &loop);
  llvm::BasicBlock *block(llvm::StringRef name);

  mlir::func::FuncOp program;
  /// Behind the names that a trace hears: the case.
  std::string traceSuffix;
  const ProgramInterface interface;
  const KernelSymbols &kernels;
  const WeightTable &table;
  Weights &weights;
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> b;
  ExpressionBuilder expressions;

  llvm::PointerType *ptr;
  llvm::Type *i64, *i32, *i8;
  llvm::Function *run = nullptr;
  llvm::Value *runContext = nullptr, *arena = nullptr, *weightsBase = nullptr;
  llvm::BasicBlock *exit = nullptr;
  llvm::PHINode *exitCode = nullptr;
  llvm::Value *inputPointers = nullptr, *outputPointers = nullptr;
  llvm::StringMap<llvm::Value *> symbols;
  std::string unknownSymbol;
  llvm::DenseMap<mlir::Value, llvm::Value *> pointers;
  /// Null: the host's memory is all there is. Otherwise `devicePointers` has what is in both memories.
  DeviceKernels *device;
  llvm::Value *deviceArena = nullptr, *deviceWeights = nullptr;
  llvm::DenseMap<mlir::Value, llvm::Value *> devicePointers;
  llvm::StringMap<llvm::Constant *> strings;
  /// For each counted loop around, the memory of this step's output slices by result number.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<llvm::Value *>> slices;
  /// For each loop around, the variables with memory that its step must give back.
  std::vector<llvm::SmallVector<Slot>> stepMemory;
  /// The number of the step of the innermost loop that is being written; null outside of loops.
  llvm::Value *currentStep = nullptr;
  /// Those among them that hold the host's memory though kernels run on a device.
  llvm::DenseSet<Slot> hostMemory;
};

} // namespace hewn::codegen

#endif
