// SPDX-License-Identifier: Apache-2.0
//
// Side effects that order the ops of the dialect `simt` and of the target dialects that extend it.
#ifndef HEWN_SIMT_BASE
#define HEWN_SIMT_BASE

include "mlir/Interfaces/SideEffectInterfaces.td"

def Convergence : Resource<"::hewn::simt::ConvergenceResource">;
// Side effect of ops that all threads of a warp or block must execute together, at the same point
// of the program. It keeps MLIR from moving or merging these ops.
def Convergent : MemoryEffects<[MemWrite<Convergence>]>;
// Side effect of ops that order the memory accesses of a thread, or that access memory by address.
def Orders : MemoryEffects<[MemRead, MemWrite, MemWrite<Convergence>]>;

#endif
