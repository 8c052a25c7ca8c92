// SPDX-License-Identifier: Apache-2.0
//
// The output of a compilation does not depend on the number of threads. The model has several
// kernels and four variants: two cases for two targets.
#include "hewn/compiler.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace {

const std::string model = R"(<ir_version: 10, opset_import: ["" : 18]>
g (float[n, 1, 64] x) => (float[] y, float[] top, float[] most) {
  w = Constant <value = float[1] {0.25}> ()  size = Constant <value_ints = [64, 64]> ()
  one = Constant <value_ints = [1]> ()
  table = Expand(w, size)  s = Squeeze(x)  h = MatMul(s, table)  u = Softmax(h)  v = MatMul(u, table)
  e = Erf(x)  t = Transpose <perm = [2, 1, 0]> (e)  c = CumSum(t, one)  most = ReduceMax(c)
  y = Add(v, h)  top, places = TopK <axis = -1> (v, one)
})";

/// Returns a folder of this process.
std::filesystem::path scratch() {
  return std::filesystem::path(testing::TempDir()) / ("compile-threads-" + std::to_string(getpid()));
}

/// Compiles the model with a number of threads. Returns the text of the stage `emit`; if it is
/// empty, writes a library and the remarks to `folder`, and returns them.
std::string compile(int jobs, const char *emit, const std::filesystem::path &folder) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::string output = (folder / "libm.so").string(), remarks = (folder / "remarks.json").string();
  hewn_compile_options options = {};
  options.size = sizeof(options);
  options.model_bytes = model.data();
  options.model_size = model.size();
  options.target = "x86-64-v3,x86-64-v4";
  options.jobs = jobs;
  options.emit = emit;
  if (!*emit) {
    options.output = output.c_str();
    options.remarks = remarks.c_str();
  }
  hewn_compilation *compilation = hewn_compile(&options);
  EXPECT_TRUE(hewn_compilation_ok(compilation));
  size_t bytes = 0;
  const char *text = hewn_compilation_text(compilation, &bytes);
  std::string all(text ? text : "", bytes);
  for (size_t i = 0; i < hewn_compilation_num_messages(compilation); ++i)
    all += hewn_compilation_message(compilation, i)->text;
  hewn_compilation_destroy(compilation);
  if (!*emit)
    for (const std::string &path : {output, remarks}) {
      std::ostringstream content;
      content << std::ifstream(path, std::ios::binary).rdbuf();
      EXPECT_FALSE(content.str().empty()) << path;
      all += content.str();
    }
  return all;
}

TEST(CompileThreads, OutputDoesNotDependOnTheirNumber) {
  std::filesystem::path folder = scratch();
  for (const char *emit : {"graph", "kernels", "plan", "asm", ""}) {
    std::string one = compile(1, emit, folder);
    ASSERT_FALSE(one.empty());
    for (int jobs : {2, 8})
      for (int repetition = 0; repetition < 3; ++repetition)
        EXPECT_TRUE(compile(jobs, emit, folder) == one) << "--emit=" << emit << " with " << jobs << " threads";
  }
  std::filesystem::remove_all(folder);
}

TEST(CompileThreads, VariantsAreInOrder) {
  std::string text = compile(8, "plan", scratch());
  size_t at = 0;
  std::filesystem::remove_all(scratch());
  for (const char *name : {"module @\"x86-64-v4.case0\"", "module @\"x86-64-v4.case1\"", "module @\"x86-64-v3.case0\"",
                           "module @\"x86-64-v3.case1\""})
    EXPECT_NE(at = text.find(name, at), std::string::npos) << name;
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
