// SPDX-License-Identifier: Apache-2.0
//
// Rewrites masked loads and stores to forms for which LLVM's code generators emit correct code.
#ifndef HEWN_LIB_CODEGEN_EMIT_MASKEDACCESSES_H
#define HEWN_LIB_CODEGEN_EMIT_MASKEDACCESSES_H

namespace llvm {
class Module;
}

namespace hewn::codegen {

/// Splits masked accesses whose vectors are larger than a register of `vectorBytes`. LLVM 22 would
/// split them itself, but incorrectly for masks that are vectors: if all lanes of a part turn out
/// to be masked out after LLVM has split the mask, it leaves 1 in these lanes instead of 0. The
/// instruction checks only a lane's highest bit, but LLVM takes the 1 for an enabled lane and loads
/// all of the part. For parts that are split here, such a mask is a constant zero, and the load is
/// removed.
void splitMaskedAccesses(llvm::Module &module, unsigned vectorBytes);

/// Rewrites masked stores with a constant mask of adjacent lanes to one or two stores of a power of
/// two of elements, if these suffice. A store masked by a vector is microcoded on some CPUs; a
/// store with a mask register may cross the cache line that its disabled lanes extend into. A
/// masked store of a single lane must not remain: some code generators of LLVM 22 emit it as a
/// store of one element, and store too many bytes if the stored vector is the result of a
/// truncation and the target has a truncating store. It then overwrites the adjacent elements and
/// past the end of the buffer (https://github.com/llvm/llvm-project/issues/179489). Run after the
/// optimizer, which proves masks constant.
void storeFewLanes(llvm::Module &module);

} // namespace hewn::codegen

#endif
