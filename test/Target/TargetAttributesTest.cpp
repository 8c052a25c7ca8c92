// SPDX-License-Identifier: Apache-2.0
//
// Tests that the description of every target can be created in a context that has only the plan
// dialect loaded. `hewn explain` and `hewn profile` create it in such a context to measure the
// rates of the host.
#include "dialects/Plan/Plan.h"
#include "lib/Target/Targets.h"

#include "gtest/gtest.h"

namespace {

using namespace hewn;

TEST(TargetAttributes, NeedOnlyThePlanDialect) {
  std::vector<std::string> names = target::names();
  names.insert(names.end(), {"host", "sapphirerapids-amx", "x86-64-v4+amx", "x86-64-v4+vnni+bf16+amx"});
  for (const std::string &name : names) {
    // A name such as "portable" represents several targets.
    llvm::Expected<std::vector<codegen::TargetSpec>> found = target::findAll(name);
    ASSERT_TRUE(bool(found)) << name << ": " << llvm::toString(found.takeError());
    for (const codegen::TargetSpec &spec : *found) {
      mlir::MLIRContext context;
      context.loadDialect<plan::PlanDialect>();
      for (Precision precision : {Precision::Highest, Precision::High, Precision::Medium}) {
        plan::TargetAttr attribute = target::attribute(&context, spec, precision);
        ASSERT_TRUE(attribute) << spec.name;
        EXPECT_GT(attribute.getVectorBytes(), 0) << spec.name;
        std::string text;
        llvm::raw_string_ostream stream(text);
        mlir::Attribute(attribute).print(stream);
        EXPECT_FALSE(text.empty()) << spec.name;
      }
    }
  }
}

TEST(TargetAttributes, HaveAMatrixUnitOnlyWithAmx) {
  for (auto [name, hasUnit] : {std::pair("sapphirerapids", true), {"sapphirerapids-amx", false}, {"znver4", false}}) {
    mlir::MLIRContext context;
    context.loadDialect<plan::PlanDialect>();
    plan::TargetAttr attribute = target::attribute(&context, *target::find(name), Precision::Highest);
    EXPECT_EQ(bool(attribute.getMatrices()), hasUnit) << name;
  }
}

} // namespace

int main(int argc, char **argv) {
  hewn::target::initialize();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
