// SPDX-License-Identifier: Apache-2.0
//
// What ranks do together: a model that is split over several devices or processes is a program for each, and these are where one needs
// what another has. All ranks of the group come to them in the same order; none goes on before its own part is done.
#ifndef HEWN_GRAPH_COLLECTIVE
#define HEWN_GRAPH_COLLECTIVE

include "dialects/Graph/GraphKinds.td"

// An effect, so that none is dropped, folded or called twice, and all stay in their order.
def PeersResource : Resource<"::hewn::graph::PeersResource">;
class Collective<string mnemonic, string part, string params>
    : Part<mnemonic, part, params, [], [MemoryEffects<[MemRead<PeersResource>, MemWrite<PeersResource>]>]>;

def Graph_AllReduceOp : Collective<"all_reduce", "allreduce", "{int64_t(getFirst()), int64_t(getRanks())}"> {
  let summary = "The sum of x over `ranks` ranks from `first` on, in their order: the same bits on each.";
  let arguments = (ins Tensor:$x, I64Attr:$first, I64Attr:$ranks);
}

def Graph_ReduceScatterOp
    : Collective<"reduce_scatter", "reducescatter", "{int64_t(getFirst()), int64_t(getRanks())}"> {
  let summary = "Of x of `ranks` ranks from `first` on each one's own part, of those along the first dim, summed in the order of the ranks.";
  let arguments = (ins Tensor:$x, I64Attr:$first, I64Attr:$ranks);
}

def Graph_AllGatherOp : Collective<"all_gather", "allgather", "{int64_t(getFirst()), int64_t(getRanks())}"> {
  let summary = "x of `ranks` ranks from `first` on, along a new first dim.";
  let arguments = (ins Tensor:$x, I64Attr:$first, I64Attr:$ranks);
}

def Graph_SendOp : Collective<"send", "send", "{int64_t(getTo())}"> {
  let summary = "Gives x to rank `to`, which receives it; the result is an empty tensor that nobody reads.";
  let arguments = (ins Tensor:$x, I64Attr:$to);
}

def Graph_ReceiveOp : Collective<"receive", "receive", "{int64_t(getFrom())}"> {
  let summary = "What rank `from` sends, of these dims.";
  let arguments = (ins ArrayAttr:$shape, TypeAttr:$elementType, I64Attr:$from);
}

#endif
