// SPDX-License-Identifier: Apache-2.0
//
// Masked loads and stores in forms that LLVM's code generators make right code of.
#ifndef HEWN_LIB_CODEGEN_EMIT_MASKEDACCESSES_H
#define HEWN_LIB_CODEGEN_EMIT_MASKEDACCESSES_H

namespace llvm {
class Module;
}

namespace hewn::codegen {

/// Divides masked accesses into those of what a register of `vectorBytes` holds. LLVM 22 would divide wider ones itself, but where the mask is a vector it does so wrongly:
/// where a part's lanes are all masked out, and this shows only after the mask was divided, it leaves 1 in them where it had 0 (a lane's
/// highest bit is all that its instruction looks at), and then takes the 1 for a lane that is wanted and loads all of the part. Of
/// parts that are divided here such masks are constants of 0, which no load is left for.
void splitMaskedAccesses(llvm::Module &module, unsigned vectorBytes);

/// Makes masked stores whose mask is a constant of neighbouring lanes stores of one, two, four, ... elements, where one or two of these are
/// enough: an instruction that takes a mask from a vector is a program of many steps on some processors, and one with a mask register
/// crosses the cache line that its other lanes reach. A single lane must not stay: some code generators of LLVM 22 make a store of one
/// element of it themselves, and wrongly where the stored vector is a truncated one and the machine has a store that truncates: the
/// element is stored as wide as it was before, over its neighbours and past the end of a buffer
/// (https://github.com/llvm/llvm-project/issues/179489). For the end of the optimizer, which finds out that masks are constant.
void storeFewLanes(llvm::Module &module);

} // namespace hewn::codegen

#endif
