// SPDX-License-Identifier: Apache-2.0
//
// Compiles each function of lib/Codegen/Math for the host and compares it with libm's float64
// function, on every 2^8-th float32, or on all of them with VectorMath --all. float64 functions are
// compared with libm's long double functions on random numbers.
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Passes.h"

#include "gtest/gtest.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir;

namespace {

unsigned step = 256;
constexpr int kLanes = 16;
constexpr float kInf = INFINITY;

using Kernel = void (*)(const void *, const void *, void *);

/// Returns IR that applies `op` to %a, or to %a and %b. Several ops separated by "|" are applied in
/// sequence.
std::string opsOn(const std::string &op, int operands, const std::string &type) {
  llvm::SmallVector<llvm::StringRef> ops;
  llvm::StringRef(op).split(ops, '|');
  std::string text, value = "%a";
  for (auto [i, name] : llvm::enumerate(ops)) {
    std::string next = i + 1 < ops.size() ? "%v" + std::to_string(i) : "%r";
    text += "  " + next + " = " + name.str() + " " + value + (operands == 2 ? ", %b" : "") + " : " + type + "\n";
    value = next;
  }
  return text;
}

/// Target properties of vectors, as attributes of plan.target.
struct Vectors {
  int bytes;
  const char *intrinsics;
};
constexpr Vectors kPlain = {64, ""}, kAvx2 = {32, ", permuteIntrinsic = \"llvm.x86.avx2.permps\""},
                  kAvx512 = {64, ", scaleIntrinsic = \"llvm.x86.avx512.mask.scalef.ps.512\", permuteIntrinsic = "
                                 "\"llvm.x86.avx512.permvar.sf.512\""},
                  kFma = {64, ", hasFma = true"};

/// A compiled function whose argument is a vector (`type` is vector<16xf32> or vector<8xf64>) or a
/// scalar (f32, f64).
class Compiled {
public:
  Compiled(const std::string &op, int operands, const std::string &type, Vectors vectors = kPlain) {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect, hewn::plan::PlanDialect>();
    registerAllToLLVMIRTranslations(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    std::string text = "module attributes {plan.target = #plan.cpu<vectorBytes = " + std::to_string(vectors.bytes) +
                       ", vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608" +
                       vectors.intrinsics +
                       ">} {\n"
                       "func.func @f(%x: !llvm.ptr, %y: !llvm.ptr, %z: !llvm.ptr) {\n"
                       "  %a = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> " +
                       type +
                       "\n"
                       "  %b = llvm.load %y {alignment = 4 : i64} : !llvm.ptr -> " +
                       type + "\n" + opsOn(op, operands, type) + "  llvm.store %r, %z {alignment = 4 : i64} : " + type +
                       ", !llvm.ptr\n"
                       "  return\n}\n}\n";
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    PassManager pm(&context);
    pm.addPass(hewn::codegen::createExpandMathPass());
    pm.addPass(createSCFToControlFlowPass());
    pm.addPass(createConvertVectorToLLVMPass());
    pm.addPass(createConvertMathToLLVMPass());
    pm.addPass(createArithToLLVMConversionPass());
    pm.addPass(createConvertControlFlowToLLVMPass());
    pm.addPass(createConvertFuncToLLVMPass());
    pm.addPass(createReconcileUnrealizedCastsPass());
    if (!module || failed(pm.run(*module)))
      return;
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*module, *llvmContext);
    if (!llvmModule)
      return;
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::cantFail(jit->addIRModule({std::move(llvmModule), std::move(llvmContext)}));
    kernel = llvm::cantFail(jit->lookup("f")).toPtr<Kernel>();
  }

  Kernel kernel = nullptr;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

float fromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

/// Returns the error of `got`, a float32, in ulps relative to `exact`. Returns infinity if only one
/// of them is NaN.
double ulps(float got, double exact) {
  if (std::isnan(got) || std::isnan(exact))
    return std::isnan(got) && std::isnan(exact) ? 0 : kInf;
  if (std::signbit(got) != std::signbit(exact))
    return kInf;
  if (std::isinf(got) && std::isinf(float(exact)))
    return 0;
  // The error in ulps treats infinity as the number after the largest float32.
  auto finite = [](double v) { return std::isinf(v) ? std::copysign(0x1p128, v) : v; };
  int exponent = exact == 0 || std::isinf(exact) ? -126 : std::clamp(std::ilogb(exact), -126, 127);
  return std::fabs(finite(got) - finite(exact)) / std::ldexp(1.0, exponent - 23);
}

struct Function {
  const char *op;
  double (*exact)(double);
  double bound;
  /// Bound below which results are flushed to 0, so that no result is denormal
  /// (docs/decisions/numbers/denormals.md).
  double least = 0;
};

/// Returns the error of `got` in ulps, relative to the specification of `f` at x. Returns infinity
/// if `got` is denormal although `f` flushes denormals.
double errorOf(const Function &f, float x, float got) {
  double exact = f.exact(x);
  if (f.least != 0 && std::fpclassify(got) == FP_SUBNORMAL)
    return kInf;
  return ulps(got, std::fabs(exact) <= f.least ? std::copysign(0, exact) : exact);
}
void PrintTo(const Function &f, std::ostream *out) { *out << f.op; }

double rsqrt(double x) { return 1 / std::sqrt(x); }
double decay(double x) { return std::exp(-std::fabs(x)); }
double logOfDecay(double x) { return std::log1p(decay(x)); }

class VectorMath : public testing::TestWithParam<Function> {};

/// Compares every `step`-th float32 with `f.exact`.
void sweepAll(const Function &f, const Compiled &compiled) {
  ASSERT_TRUE(compiled.kernel);
  double worst = 0;
  float worstAt = 0, in[kLanes], out[kLanes];
  for (uint64_t first = 0; first <= 0xffffffffu; first += uint64_t(step) * kLanes) {
    for (int lane = 0; lane < kLanes; ++lane)
      in[lane] = fromBits(uint32_t(first + uint64_t(step) * lane));
    compiled.kernel(in, in, out);
    for (int lane = 0; lane < kLanes; ++lane)
      if (double error = errorOf(f, in[lane], out[lane]); error > worst) {
        worst = error;
        worstAt = in[lane];
      }
  }
  std::printf("%-12s %.3f ulp at %.9g\n", f.op, worst, worstAt);
  EXPECT_LE(worst, f.bound) << f.op << " at " << worstAt;
}

TEST_P(VectorMath, DenseSample) { sweepAll(GetParam(), Compiled(GetParam().op, 1, "vector<16xf32>")); }

/// Properties of targets that look up tables in vector registers. Some of these targets also have a
/// scaling instruction.
void sweepOn(const Function &f, const char *feature, Vectors vectors) {
  if (!llvm::sys::getHostCPUFeatures().lookup(feature))
    GTEST_SKIP() << "this machine has no " << feature;
  sweepAll(f, Compiled(f.op, 1, "vector<16xf32>", vectors));
}
TEST_P(VectorMath, DenseSampleByAvx2) { sweepOn(GetParam(), "avx2", kAvx2); }
TEST_P(VectorMath, DenseSampleByAvx512) { sweepOn(GetParam(), "avx512f", kAvx512); }

TEST_P(VectorMath, ScalarsAndEdges) {
  const Function &f = GetParam();
  Compiled compiled(f.op, 1, "f32");
  ASSERT_TRUE(compiled.kernel);
  for (float magnitude : {0.0f, 1e-45f, 1.1754942e-38f, 1.17549435e-38f, 1e-20f, 0.5f, 1.0f, 2.0f, 88.7f, 103.9f, 1e10f,
                          1e20f, 3.4028234e38f, kInf, NAN})
    for (float x : {magnitude, -magnitude}) {
      float out;
      compiled.kernel(&x, &x, &out);
      EXPECT_LE(errorOf(f, x, out), f.bound) << f.op << " of " << x << " is " << out;
    }
}

/// The largest subnormal float32. Exponentials up to this bound are flushed to 0
/// (docs/decisions/numbers/denormals.md).
constexpr double kLargestSubnormal = 0x0.fffffep-126;

/// Returns the names of the ops without dialect prefixes, concatenated.
std::string nameOf(const testing::TestParamInfo<Function> &info) {
  llvm::SmallVector<llvm::StringRef> ops;
  llvm::StringRef(info.param.op).split(ops, '|');
  std::string name;
  for (llvm::StringRef op : ops)
    name += op.split('.').second;
  return name;
}

// The error bounds in this table are the documented accuracy.
INSTANTIATE_TEST_SUITE_P(
    All, VectorMath,
    testing::Values(Function{"math.exp", std::exp, 1.1, kLargestSubnormal},
                    Function{"math.exp2", std::exp2, 1.1, kLargestSubnormal}, Function{"math.expm1", std::expm1, 2},
                    Function{"math.sinh", std::sinh, 2.5}, Function{"math.cosh", std::cosh, 2.5},
                    Function{"math.tanh", std::tanh, 1.5}, Function{"math.erf", std::erf, 1.2},
                    Function{"math.log", std::log, 1.1}, Function{"math.log2", std::log2, 1.5},
                    Function{"math.log10", std::log10, 1.5}, Function{"math.log1p", std::log1p, 1.5},
                    Function{"math.asinh", std::asinh, 1}, Function{"math.acosh", std::acosh, 1},
                    Function{"math.atanh", std::atanh, 1}, Function{"math.sin", std::sin, 1.5},
                    Function{"math.cos", std::cos, 1.5}, Function{"math.tan", std::tan, 3.2},
                    Function{"math.asin", std::asin, 2.5}, Function{"math.acos", std::acos, 2},
                    Function{"math.atan", std::atan, 2}, Function{"math.rsqrt", rsqrt, 1.5},
                    Function{"math.absf|arith.negf|math.exp", decay, 1.1, kLargestSubnormal},
                    Function{"math.absf|arith.negf|math.exp|math.log1p", logOfDecay, 2, kLargestSubnormal}),
    nameOf);

/// A float64 function. libm's long double function is exact to 64 bits on x86 and to 113 bits on
/// AArch64.
struct WideFunction {
  const char *op;
  long double (*exact)(long double);
  double bound;
};
void PrintTo(const WideFunction &f, std::ostream *out) { *out << f.op; }

/// Returns the error of `got` in ulps of float64. Returns infinity if only one number is NaN.
double wideUlps(double got, long double exact) {
  if (std::isnan(got) || std::isnan(exact))
    return std::isnan(got) && std::isnan(exact) ? 0 : kInf;
  if (std::signbit(got) != std::signbit(exact))
    return kInf;
  if (std::isinf(got) && std::isinf(double(exact)))
    return 0;
  if (std::isinf(got) || std::isinf(exact))
    return kInf;
  int exponent = exact == 0 ? -1022 : std::clamp(std::ilogb(exact), -1022, 1023);
  return double(std::fabs((long double)(got)-exact) / std::ldexp(1.0L, exponent - 52));
}

class WideVectorMath : public testing::TestWithParam<WideFunction> {};

/// Compares random bit patterns, random numbers of ordinary magnitude, and edge cases.
TEST_P(WideVectorMath, RandomSample) {
  const WideFunction &f = GetParam();
  Compiled compiled(f.op, 1, "vector<8xf64>", kFma);
  ASSERT_TRUE(compiled.kernel);
  std::vector<double> inputs = {0,     5e-324, 0x1p-1022,     0x1p-1023, 1e-300, 0x1p-54, 0.25, 0.5,    0x1p-28,
                                0.35,  1,      1.5,           2,         22,     36.7,    40,   709.78, 709.782713,
                                710.4, 710.5,  744,           745.1332,  745.14, 746,     1e5,  1e9,    1e10,
                                1e300, 0x1p60, 1.7976931e308, kInf,      NAN};
  for (size_t i = 0, n = inputs.size(); i < n; ++i)
    inputs.push_back(-inputs[i]);
  for (int n = 1; n < 4000; ++n) // close to multiples of pi/2
    inputs.push_back(n * 1.57079632679489656);
  uint64_t state = 1;
  auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (uint64_t i = 0; i < (uint64_t(1) << 29) / step; ++i) {
    uint64_t bits = next() ^ (next() >> 32);
    if (i % 4) // magnitudes from 2^-63 to 2^64
      bits = (bits & 0x87ffffffffffffff) + 0x3c00000000000000;
    if (i % 4 == 2) // from 2^-7 to 2^8
      bits = (bits & 0x80ffffffffffffff) + 0x3f80000000000000 - (bits & 0x3c00000000000000);
    double x;
    std::memcpy(&x, &bits, sizeof(x));
    inputs.push_back(x);
  }
  constexpr size_t lanes = 8;
  inputs.resize((inputs.size() + lanes - 1) / lanes * lanes, 1);
  double worst = 0, worstAt = 0, out[lanes];
  for (size_t first = 0; first < inputs.size(); first += lanes) {
    compiled.kernel(&inputs[first], &inputs[first], out);
    for (size_t lane = 0; lane < lanes; ++lane)
      if (double error = wideUlps(out[lane], f.exact(inputs[first + lane])); error > worst) {
        worst = error;
        worstAt = inputs[first + lane];
      }
  }
  std::printf("%-12s %.3f ulp at %.17g\n", f.op, worst, worstAt);
  EXPECT_LE(worst, f.bound) << f.op << " at " << worstAt;
}

// The error bounds in this table are the documented accuracy.
INSTANTIATE_TEST_SUITE_P(All, WideVectorMath,
                         testing::Values(WideFunction{"math.exp", expl, 1}, WideFunction{"math.expm1", expm1l, 2},
                                         WideFunction{"math.sinh", sinhl, 2.5}, WideFunction{"math.cosh", coshl, 2},
                                         WideFunction{"math.tanh", tanhl, 3}, WideFunction{"math.log", logl, 1},
                                         WideFunction{"math.log1p", log1pl, 1.5}, WideFunction{"math.sin", sinl, 1},
                                         WideFunction{"math.cos", cosl, 1}),
                         [](const testing::TestParamInfo<WideFunction> &info) {
                           return llvm::StringRef(info.param.op).split('.').second.str();
                         });

class VectorMath2 : public testing::Test {
protected:
  /// Tests pairs: a dense random sample of all bit patterns and of ordinary magnitudes, and all
  /// pairs of edge cases.
  static void sweep(const char *op, double (*exact)(double, double), double bound) {
    Compiled compiled(op, 2, "vector<16xf32>");
    ASSERT_TRUE(compiled.kernel);
    std::vector<std::pair<float, float>> pairs;
    std::vector<float> edges = {0.0f, 1e-45f, 1e-39f,      1.17549435e-38f, 0.5f,          1.0f, 1.5f, 2.0f,
                                3.0f, 4.0f,   16777215.0f, 1e10f,           3.4028234e38f, kInf, NAN};
    for (size_t i = 0, n = edges.size(); i < n; ++i)
      edges.push_back(-edges[i]);
    for (float x : edges)
      for (float y : edges)
        pairs.push_back({x, y});
    uint64_t state = 1;
    auto next = [&] { return uint32_t((state = state * 6364136223846793005u + 1442695040888963407u) >> 32); };
    for (uint64_t i = 0; i < (uint64_t(1) << 30) / step; ++i) {
      uint32_t a = next(), b = next();
      if (i % 2) { // y is an exponent close to 0, positive or negative
        a = (a & 0x83ffffff) + 0x3e000000;
        b = (b & 0x83ffffff) + 0x3e000000;
      }
      pairs.push_back({fromBits(a), fromBits(b)});
    }
    while (pairs.size() % kLanes)
      pairs.push_back({1, 1});
    double worst = 0;
    std::pair<float, float> worstAt;
    float x[kLanes], y[kLanes], out[kLanes];
    for (size_t first = 0; first < pairs.size(); first += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane)
        std::tie(x[lane], y[lane]) = pairs[first + lane];
      compiled.kernel(x, y, out);
      for (int lane = 0; lane < kLanes; ++lane)
        if (double error = ulps(out[lane], exact(x[lane], y[lane])); error > worst) {
          worst = error;
          worstAt = {x[lane], y[lane]};
        }
    }
    std::printf("%-12s %.3f ulp at %.9g, %.9g\n", op, worst, worstAt.first, worstAt.second);
    EXPECT_LE(worst, bound) << op << " at " << worstAt.first << ", " << worstAt.second;
  }
};

TEST_F(VectorMath2, Pow) { sweep("math.powf", std::pow, 0.55); }
TEST_F(VectorMath2, Atan2) { sweep("math.atan2", std::atan2, 2.5); }

/// Compares float64 powers of random pairs whose result is ordinary, and all pairs of edge cases.
TEST(WideVectorMath2, Pow) {
  Compiled compiled("math.powf", 2, "vector<8xf64>", kFma);
  ASSERT_TRUE(compiled.kernel);
  std::vector<std::pair<double, double>> pairs;
  std::vector<double> edges = {0,
                               5e-324,
                               1e-310,
                               0x1p-1022,
                               0x1p-1021,
                               0.5,
                               1,
                               1.5,
                               2,
                               3,
                               4,
                               16777215,
                               9007199254740991,
                               1e10,
                               1e15,
                               1e16,
                               1e300,
                               1e-300,
                               1.7976931e308,
                               0.99999999999999989,
                               1.0000000000000002,
                               kInf,
                               NAN};
  for (size_t i = 0, n = edges.size(); i < n; ++i)
    edges.push_back(-edges[i]);
  for (double x : edges)
    for (double y : edges)
      pairs.push_back({x, y});
  uint64_t state = 1;
  auto next = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 11; };
  auto uniform = [&] { return double(next()) * 0x1p-53; };
  for (uint64_t i = 0; i < (uint64_t(1) << 28) / step; ++i) {
    double x = i % 2 ? std::exp2(uniform() * 2040 - 1020) : 0.25 + 4 * uniform();
    pairs.push_back({x, (uniform() * 2 - 1) * 740 / std::max(std::fabs(std::log(x)), 1e-3)});
  }
  for (int i = -300; i <= 300; ++i)
    for (double y : {2.0, 3.0, -1.0, 0.5})
      pairs.push_back({i, y});
  constexpr size_t lanes = 8;
  pairs.resize((pairs.size() + lanes - 1) / lanes * lanes, {1, 1});
  double worst = 0, x[lanes], y[lanes], out[lanes];
  std::pair<double, double> worstAt;
  for (size_t first = 0; first < pairs.size(); first += lanes) {
    for (size_t lane = 0; lane < lanes; ++lane)
      std::tie(x[lane], y[lane]) = pairs[first + lane];
    compiled.kernel(x, y, out);
    for (size_t lane = 0; lane < lanes; ++lane)
      if (double error = wideUlps(out[lane], powl(x[lane], y[lane])); error > worst) {
        worst = error;
        worstAt = pairs[first + lane];
      }
  }
  std::printf("math.powf    %.3f ulp at %.17g, %.17g\n", worst, worstAt.first, worstAt.second);
  EXPECT_LE(worst, 1.5) << worstAt.first << ", " << worstAt.second;
}

TEST_F(VectorMath2, PowerIsExactWhereItCanBe) {
  Compiled compiled("math.powf", 2, "f32");
  ASSERT_TRUE(compiled.kernel);
  auto pow = [&](float x, float y) {
    float out;
    compiled.kernel(&x, &y, &out);
    return out;
  };
  for (int i = -4096; i <= 4096; ++i)
    EXPECT_EQ(pow(float(i), 2), float(i) * float(i));
  for (int i = 0; i <= 4096; ++i)
    EXPECT_EQ(pow(float(i) * float(i), 0.5f), float(i));
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string(argv[1]) == "--all")
    step = 1;
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  return RUN_ALL_TESTS();
}
