// SPDX-License-Identifier: Apache-2.0
//
// What ops of a grid's code do to each other's order: of the dialect `grid`, and of the dialects that targets have beside it.
#ifndef HEWN_GRID_BASE
#define HEWN_GRID_BASE

include "mlir/Interfaces/SideEffectInterfaces.td"

def Convergence : Resource<"::hewn::grid::ConvergenceResource">;
// Done by all threads of a warp, or of a block, at the same place.
def Convergent : MemoryEffects<[MemWrite<Convergence>]>;
// Orders what the thread reads and writes, or reads and writes memory by address.
def Orders : MemoryEffects<[MemRead, MemWrite, MemWrite<Convergence>]>;

#endif
