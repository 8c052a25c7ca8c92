// SPDX-License-Identifier: Apache-2.0
//
// Communication between ranks. If a model is sharded over several devices or processes, each rank
// has a program of its own, and these ops exchange data between the programs. All ranks of a group
// must execute their collectives in the same order. A rank continues as soon as its own part of a
// collective is done.
#ifndef HEWN_GRAPH_COLLECTIVE
#define HEWN_GRAPH_COLLECTIVE

include "dialects/Graph/GraphKinds.td"

// Side effect of all communication ops, so that passes keep their order and do not erase, fold or
// duplicate them.
def PeersResource : Resource<"::hewn::graph::PeersResource">;
class Collective<string mnemonic, string part, string params>
    : Part<mnemonic, part, params, [], [MemoryEffects<[MemRead<PeersResource>, MemWrite<PeersResource>]>]>;

def Graph_AllReduceOp : Collective<"all_reduce", "allreduce", "{int64_t(getFirst()), int64_t(getRanks())}"> {
  let summary = "The sum of x over `ranks` ranks from `first` on, added in rank order: bitwise equal on all ranks";
  let arguments = (ins Tensor:$x, I64Attr:$first, I64Attr:$ranks);
}

def Graph_ReduceScatterOp
    : Collective<"reduce_scatter", "reducescatter", "{int64_t(getFirst()), int64_t(getRanks())}"> {
  let summary = "Sums x over `ranks` ranks from `first` on, in rank order; each rank gets a slice along dim 0";
  let arguments = (ins Tensor:$x, I64Attr:$first, I64Attr:$ranks);
}

def Graph_AllGatherOp : Collective<"all_gather", "allgather", "{int64_t(getFirst()), int64_t(getRanks())}"> {
  let summary = "Concatenates x of `ranks` ranks from `first` on along a new first dim";
  let arguments = (ins Tensor:$x, I64Attr:$first, I64Attr:$ranks);
}

def Graph_SendOp : Collective<"send", "send", "{int64_t(getTo())}"> {
  let summary = "Sends x to rank `to`; the result is an empty tensor without uses";
  let arguments = (ins Tensor:$x, I64Attr:$to);
}

def Graph_ReceiveOp : Collective<"receive", "receive", "{int64_t(getFrom())}"> {
  let summary = "Receives a tensor of these dims from rank `from`";
  let arguments = (ins ArrayAttr:$shape, TypeAttr:$elementType, I64Attr:$from);
}

#endif
