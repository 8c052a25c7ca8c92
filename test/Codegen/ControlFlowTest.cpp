// SPDX-License-Identifier: Apache-2.0
//
// Control flow ops that the compiler does not know: this file defines ops that implement only
// ControlOpInterface, and runs them through all stages.
#include "dialects/Graph/Control/ControlFlow.h"
#include "dialects/Handle/Handle.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Emit/Object.h"
#include "lib/Codegen/Passes.h"
#include "lib/Compiler/Emit/InProcess.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Plan/Passes.h"

#include "gtest/gtest.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cstring>

using namespace mlir;
using namespace hewn;

namespace hewn::test {

/// A while loop. Its first operand is the condition, and the others are loop-carried. Each step
/// yields the next condition first. In contrast to graph.loop it has no trip count, and the
/// condition is no block argument.
class WhileOp : public Op<WhileOp, OpTrait::OneRegion, OpTrait::VariadicResults, OpTrait::ZeroSuccessors,
                          OpTrait::VariadicOperands, graph::ControlOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WhileOp)
  using Op::Op;
  static StringRef getOperationName() { return "test.while"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }

  bool isLoop() { return true; }
  graph::ControlValues getControlValues() {
    graph::ControlValues values;
    values.condition = &getOperation()->getOpOperand(0);
    values.nextCondition = &body().getTerminator()->getOpOperand(0);
    return values;
  }
  SmallVector<graph::CarriedValue> getCarriedValues() {
    SmallVector<graph::CarriedValue> values;
    for (OpResult result : getOperation()->getResults()) {
      unsigned i = result.getResultNumber();
      values.push_back({getOperation()->getOperand(i + 1), body().getArgument(i),
                        body().getTerminator()->getOperand(i + 1), result});
    }
    return values;
  }

private:
  Block &body() { return getOperation()->getRegion(0).front(); }
};

/// A counted loop: runs its region for 0 to 3 and stacks the yielded values, the last one first.
class FourTimesOp : public Op<FourTimesOp, OpTrait::OneRegion, OpTrait::OneResult, OpTrait::ZeroSuccessors,
                              OpTrait::ZeroOperands, graph::ControlOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FourTimesOp)
  using Op::Op;
  static StringRef getOperationName() { return "test.four_times"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }

  bool isLoop() { return true; }
  graph::ControlValues getControlValues() {
    graph::ControlValues values;
    values.inductionVariable = getOperation()->getRegion(0).getArgument(0);
    return values;
  }
  std::optional<graph::DimExpr> getNumSteps() { return graph::DimExpr(4); }
  SmallVector<graph::StackedValue> getStackedValues() {
    Operation *yield = getOperation()->getRegion(0).front().getTerminator();
    return {{yield->getOperand(0), getOperation()->getResult(0), /*backward=*/true}};
  }
};

class TestDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDialect)
  static constexpr StringLiteral getDialectNamespace() { return "test"; }
  explicit TestDialect(MLIRContext *context) : Dialect("test", context, TypeID::get<TestDialect>()) {
    addOperations<WhileOp, FourTimesOp>();
  }
};

} // namespace hewn::test

namespace {

DialectRegistry dialects() {
  DialectRegistry registry;
  registry.insert<handle::HandleDialect, graph::GraphDialect, plan::PlanDialect, hewn::test::TestDialect>();
  codegen::registerLoweringDialects(registry);
  target::registerDialects(registry);
  return registry;
}

/// Returns the results of `main`, each as a list of int64.
std::vector<std::vector<int64_t>> run(StringRef text) {
  MLIRContext context(dialects());
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module)
    return {};
  codegen::CodeOptions options;
  options.optimize = false;
  FailureOr<std::vector<std::vector<char>>> bytes = evaluate(std::move(module), options);
  EXPECT_TRUE(succeeded(bytes));
  std::vector<std::vector<int64_t>> results;
  for (const std::vector<char> &one : succeeded(bytes) ? *bytes : std::vector<std::vector<char>>()) {
    results.emplace_back(one.size() / sizeof(int64_t));
    std::memcpy(results.back().data(), one.data(), one.size());
  }
  return results;
}

// Tests a loop in which each of two loop-carried values is computed from the previous value of the
// other one.
constexpr StringLiteral kFibonacci = R"(
func.func @main() -> (tensor<1xi64>, tensor<1xi64>) {
  %go = graph.constant {value = dense<GO> : tensor<i1>} : tensor<i1>
  %zero = graph.constant {value = dense<0> : tensor<1xi64>} : tensor<1xi64>
  %one = graph.constant {value = dense<1> : tensor<1xi64>} : tensor<1xi64>
  %limit = graph.constant {value = dense<100> : tensor<i64>} : tensor<i64>
  %0:2 = "test.while"(%go, %zero, %one) ({
  ^bb0(%a: tensor<1xi64>, %b: tensor<1xi64>):
    %sum = graph.add %a, %b : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
    %alone = graph.reshape %sum {shape = []} : (tensor<1xi64>) -> tensor<i64>
    %again = graph.less %alone, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %again, %b, %sum : tensor<i1>, tensor<1xi64>, tensor<1xi64>
  }) : (tensor<i1>, tensor<1xi64>, tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>)
  return %0#0, %0#1 : tensor<1xi64>, tensor<1xi64>
}
)";

std::string fibonacci(StringRef go) {
  std::string text = kFibonacci.str();
  return text.replace(text.find("GO"), 2, go.str());
}

TEST(ControlFlow, GoesOnWhileAConditionHolds) {
  EXPECT_EQ(run(fibonacci("true")), (std::vector<std::vector<int64_t>>{{89}, {144}}));
}

TEST(ControlFlow, TakesNoStep) { EXPECT_EQ(run(fibonacci("false")), (std::vector<std::vector<int64_t>>{{0}, {1}})); }

TEST(ControlFlow, StacksByTheNumberOfTheStep) {
  EXPECT_EQ(run(R"(
func.func @main() -> tensor<4x2xi64> {
  %pair = graph.constant {value = dense<[10, 20]> : tensor<2xi64>} : tensor<2xi64>
  %0 = "test.four_times"() ({
  ^bb0(%step: tensor<i64>):
    %1 = graph.add %pair, %step : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
    graph.yield %1 : tensor<2xi64>
  }) : () -> tensor<4x2xi64>
  return %0 : tensor<4x2xi64>
}
)"),
            (std::vector<std::vector<int64_t>>{{13, 23, 12, 22, 11, 21, 10, 20}}));
}

// Tests that a program for a device copies only the conditions of control flow to the host.
TEST(ControlFlow, CopiesWhatDecides) {
  MLIRContext context(dialects());
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(R"(
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #costs>} {
func.func private @k(!llvm.ptr)
func.func @main(%go: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %first = plan.launch @k(%go) symbols [] : (tensor<i1>) -> tensor<i1>
  %0 = "test.while"(%first, %x) ({
  ^bb0(%a: tensor<4xf32>):
    %b = plan.launch @k(%a) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
    %again = plan.launch @k(%b) symbols [] : (tensor<4xf32>) -> tensor<i1>
    graph.yield %again, %b : tensor<i1>, tensor<4xf32>
  }) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
)",
                                            &context);
  ASSERT_TRUE(module);
  PassManager pm(&context);
  pm.addPass(createInsertTransfersPass());
  pm.addPass(createPlanMemoryPass());
  pm.addPass(createVerifyPlanPass());
  ASSERT_TRUE(succeeded(pm.run(*module)));
  unsigned copies = 0;
  module->walk([&](plan::CopyOp copy) {
    ++copies;
    EXPECT_EQ(copy.getTo(), plan::CopyTo::Host);
    for (OpOperand &use : copy->getUses())
      EXPECT_EQ(use.getOperandNumber(), 0u);
  });
  EXPECT_EQ(copies, 2u);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  target::initialize();
  return RUN_ALL_TESTS();
}
