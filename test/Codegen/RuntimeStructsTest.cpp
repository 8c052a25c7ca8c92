// SPDX-License-Identifier: Apache-2.0
//
// Compares the layout of the runtime's structs in generated code with the layout that Clang gives
// the structs of the headers, for 64-bit and 32-bit targets.
#include "lib/Codegen/Program/RuntimeStructs.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include "gtest/gtest.h"

using namespace hewn;
using codegen::RuntimeStruct;

namespace {

/// Returns C code that compiles only if the structs have the layout of `structs`, with `extra`
/// added to all sizes.
std::string assertions(const codegen::RuntimeStructs &structs, uint64_t extra = 0) {
  std::string text = "#include <hewn/services.h>\n#include <stddef.h>\n";
  llvm::raw_string_ostream os(text);
  auto check = [&](const llvm::Twine &expression, uint64_t value) {
    os << "_Static_assert(" << expression << " == " << value << ", \"\");\n";
  };
#define HEWN_STRUCT(name)                                                                                              \
  check("sizeof(" #name ")", structs.size(RuntimeStruct::name) + extra);                                               \
  check("_Alignof(" #name ")", structs.alignment(RuntimeStruct::name).value());                                        \
  {                                                                                                                    \
    using Field = codegen::field::name;                                                                                \
    const llvm::StringRef owner = #name;
#define HEWN_FIELD(name, type) check("offsetof(" + owner + ", " #name ")", structs.offset(Field::name));
#define HEWN_END(name) }
#include "lib/Codegen/Program/RuntimeStructs.def"
  return text;
}

/// Compiles C code for a target. Returns Clang's messages, or "" if it accepts the code.
std::string compile(llvm::StringRef triple, llvm::StringRef code) {
  int source, messages;
  llvm::SmallString<128> path, output;
  if (llvm::sys::fs::createTemporaryFile("layouts", "c", source, path) ||
      llvm::sys::fs::createTemporaryFile("layouts", "txt", messages, output))
    return "no temporary file";
  llvm::FileRemover removePath(path), removeOutput(output);
  llvm::raw_fd_ostream(source, /*shouldClose=*/true) << code;
  llvm::raw_fd_ostream(messages, /*shouldClose=*/true).flush();
  // -idirafter: Clang's own headers must be found before those of the host's C library.
  const std::string target = ("--target=" + triple).str();
  int status = llvm::sys::ExecuteAndWait(HEWN_CLANG,
                                         {HEWN_CLANG, target, "-std=c11", "-ffreestanding", "-fsyntax-only",
                                          "-I" HEWN_INCLUDE, "-idirafter", HEWN_DLPACK, path},
                                         std::nullopt, {std::nullopt, output.str(), output.str()});
  auto text = llvm::MemoryBuffer::getFile(output);
  return status == 0 ? "" : "rc " + std::to_string(status) + ": " + (text ? (*text)->getBuffer().str() : "");
}

class RuntimeStructs : public testing::TestWithParam<const char *> {
protected:
  RuntimeStructs() : module("layouts", context), structs(module) {
    llvm::Triple triple(GetParam());
    module.setTargetTriple(triple);
    module.setDataLayout(triple.computeDataLayout());
  }
  llvm::LLVMContext context;
  llvm::Module module;
  const codegen::RuntimeStructs structs;
};

TEST_P(RuntimeStructs, HaveTheLayoutOfTheHeaders) { EXPECT_EQ(compile(GetParam(), assertions(structs)), ""); }

TEST_P(RuntimeStructs, RejectsAnotherLayout) {
  EXPECT_NE(compile(GetParam(), assertions(structs, /*extra=*/8)).find("static assertion failed"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, RuntimeStructs,
                         testing::Values("x86_64-linux-gnu", "aarch64-linux-gnu", "wasm32-unknown-unknown",
                                         "riscv32-unknown-elf"));

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
