// SPDX-License-Identifier: Apache-2.0
//
// Contractions of float activations with packed low-bit weights, by dot-product instructions for
// 8-bit integers (Ozaki split).
//
// Activations are split into int8 slices. In a segment of a row (elements that share a scale of the
// weights), each element is the sum of three slices:
//
//     x = (65536 s2 + 256 s1 + s0) * unit
//     s: -128 .. 127, unit: the segment's largest magnitude / 2^23
//
// The error of an element is at most 2^-24 of the segment's largest magnitude, as in float32
// accumulation. Integer accumulation is exact:
//
//     sum of x (q - middle) = unit * (65536 (sum of s2 q - middle * sum of s2) + 256 (...) + ...)
//
// If the model allows 8-bit activations (WeightEncoding::roundsData), an element is one slice, and
// the unit is the segment's largest magnitude / 127.
//
// Without an instruction that adds up four byte products in 32 bits (VNNI, SDOT), pairs of
// products are summed in 16 bits. As many of these pair sums as cannot overflow are added before
// they are extended to 32 bits (Int8Slices::sumsInPairs): eight with 4-bit weights. With 8-bit
// weights, even one pair sum may overflow, so 8-bit weights are dequantized to float instead.
// Weights that index a table of 6-bit entries (WeightEncoding::tableInBytes) are looked up sixteen
// bytes at a time and then multiplied as integers; two pair sums fit in 16 bits.
//
// The sum of a segment's slices is computed before any weight is read: the integer accumulators
// start at -middle * sum of s. Unpacking a weight to int8 takes no instruction for 8-bit weights
// and half an instruction for 4-bit weights; dequantizing a weight to float takes three. If the
// dot-product instruction's weight operand is signed, 128, the middle of 8-bit weights, is
// subtracted from them. Infinities and NaNs among the activations make all results of their row
// NaN, as in float dequantization.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_INT8SLICEMMA_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_INT8SLICEMMA_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Emits the kernel's tasks. A task splits some rows at a time into int8 slices, which it stores in
/// its slot of the scratch memory `memory`.
void emitByInt8Slices(const ContractKernel &c, const Buffer &memory, const plan::Int8Slices &slices);

} // namespace hewn::codegen

#endif
