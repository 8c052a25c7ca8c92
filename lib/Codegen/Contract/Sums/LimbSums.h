// SPDX-License-Identifier: Apache-2.0
//
// A contraction's products with weights of few bits, on a machine that sums products of 8-bit integers.
//
// Data are split into limbs. A segment of a row, some elements that share a scale of weights, is the sum of three limbs of each element:
//
//     x = (65536 l2 + 256 l1 + l0) * unit        l: -128 .. 127, unit: the segment's largest element / 2^23
//
// so that none loses more than 2^-24 of that, as sums of floats do. What is summed is exact:
//
//     sum of x (code - middle) = unit * (65536 (sum of l2 code - middle * sum of l2) + 256 (...) + ...)
//
// Where the model allows data of 8 bits (Code::roundsData), an element is one limb, and the unit is the segment's largest element / 127.
//
// On machines without such an instruction sums of two products have 16 bits. As many such sums as have room there for certain are added before
// they are made 32 bits (Limbs::sumsInPairs): of codes of 4 bits eight, of codes of 8 bits none, which are decoded to floats. Codes that are places in a table of numbers of
// six bits (Code::tableInBytes) are looked up sixteen bytes at a time, and then multiplied as codes are; two sums of pairs have room.
//
// The sums of limbs are known before any weight is read, and accumulators begin there. A code takes no instruction if it is a byte, and
// half a one if it is half of that; floats would take three. Where the instruction's left operand has a sign, a code of 8 bits is
// multiplied less 128, which is the middle already. Infinities and NaNs make all results of their row NaN, as they do where
// floats are decoded.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_LIMBSUMS_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_LIMBSUMS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// The kernel's tasks: each makes limbs of some rows at a time, in its slot of `memory`, the kernel's scratch memory.
void emitByLimbs(const ContractKernel &c, const Buffer &memory, const plan::Limbs &limbs);

} // namespace hewn::codegen

#endif
