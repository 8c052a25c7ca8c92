# SPDX-License-Identifier: Apache-2.0
"""How the ranks of a model that is split reach each other, from Python: processes of one machine, MPI by mpi4py, or any object with
these attributes:

    rank, num_ranks
    all_gather(first, ranks, mine, all)   what each of `ranks` ranks from `first` on has in `mine`, one after another in `all`
    send(to, data)                        to one rank
    receive(source, data)                 what a rank sends, into `data`

where data are memoryviews of bytes, which end with the call. What such a function raises ends the run with a RunError. How long it
waits for another rank is its own to say: by mpi4py, without an end.
"""

from __future__ import annotations

from . import _hewn

LocalRanks = _hewn.LocalRanks


class MpiRanks:
    """The ranks of a communicator of mpi4py's."""

    def __init__(self, comm: object) -> None:
        self._all = comm.Dup()  # messages of ours and of the program's do not meet
        self._fewer: dict[tuple[int, int], object] = {}
        self.rank: int = comm.Get_rank()
        self.num_ranks: int = comm.Get_size()

    def _of(self, first: int, ranks: int) -> object:
        if ranks == self.num_ranks:
            return self._all
        if (first, ranks) not in self._fewer:
            group = self._all.Get_group().Range_incl([(first, first + ranks - 1, 1)])
            self._fewer[first, ranks] = self._all.Create_group(group)
        return self._fewer[first, ranks]

    def all_gather(self, first: int, ranks: int, mine: memoryview, all: memoryview) -> None:
        self._of(first, ranks).Allgather(mine, all)

    def send(self, to: int, data: memoryview) -> None:
        self._all.Send(data, to)

    def receive(self, source: int, data: memoryview) -> None:
        self._all.Recv(data, source)


def ranks_of(communicator: object) -> object:
    """What the extension takes: one of the above. TypeError where it is neither them nor mpi4py's."""
    if communicator is None or isinstance(communicator, (LocalRanks, NcclRanks)):
        return communicator
    if all(hasattr(communicator, name) for name in ("Get_rank", "Get_size", "Allgather", "Send", "Recv")):
        return MpiRanks(communicator)
    if all(hasattr(communicator, name) for name in ("rank", "num_ranks", "all_gather", "send", "receive")):
        return communicator
    raise TypeError(
        f"a communicator is hewn.LocalRanks, hewn.NcclRanks, one of mpi4py's, or has rank, num_ranks, all_gather, send and receive; "
        f"{type(communicator).__name__} is none"
    )


class NcclRanks(_hewn.NcclRanks):
    """Ranks of a model for GPUs, each on a device of its own (`hewn.load(path, device=..., communicator=hewn.NcclRanks(over))`), that hand
    each other what lies there by NVIDIA's NCCL (libnccl.so.2, 2.14 or newer). They find each other by `over`: hewn.LocalRanks, a communicator
    of mpi4py's, or an object of your own. A rank waits for the others `timeout` seconds at most."""

    def __init__(self, over: object, timeout: float = 30.0) -> None:
        super().__init__(ranks_of(over), timeout)
