# SPDX-License-Identifier: Apache-2.0
"""Communicators between the ranks of a partitioned model.

A communicator connects processes of one machine, is MPI by mpi4py, or is any object with these
attributes:

    rank, num_ranks
    all_gather(first, ranks, mine, all)   concatenates `mine` of `ranks` ranks, from rank `first`, into `all`
    send(to, data)                        sends to a rank
    receive(source, data)                 receives from a rank into `data`

Data are memoryviews of bytes that are only valid during the call. An exception ends the run with a
RunError. The object determines its timeouts; mpi4py waits without limit.
"""

from __future__ import annotations

from typing import Any

from . import _hewn

LocalRanks = _hewn.LocalRanks


class MpiRanks:
    """The ranks of an mpi4py communicator."""

    def __init__(self, comm: Any) -> None:
        self._all = comm.Dup()  # separates hewn's messages from the program's
        self._fewer: dict[tuple[int, int], Any] = {}
        self.rank: int = comm.Get_rank()
        self.num_ranks: int = comm.Get_size()

    def _of(self, first: int, ranks: int) -> Any:
        if ranks == self.num_ranks:
            return self._all
        if (first, ranks) not in self._fewer:
            group = self._all.Get_group().Range_incl([(first, first + ranks - 1, 1)])
            self._fewer[first, ranks] = self._all.Create_group(group)
        return self._fewer[first, ranks]

    def all_gather(self, first: int, ranks: int, mine: memoryview, all: memoryview) -> None:
        """Concatenates `mine` of `ranks` ranks, from rank `first`, into `all`."""
        self._of(first, ranks).Allgather(mine, all)

    def send(self, to: int, data: memoryview) -> None:
        """Sends `data` to a rank."""
        self._all.Send(data, to)

    def receive(self, source: int, data: memoryview) -> None:
        """Receives from a rank into `data`."""
        self._all.Recv(data, source)


def ranks_of(communicator: object) -> object:
    """Returns the communicator for the extension. Raises TypeError for an unsupported object."""
    if communicator is None or isinstance(communicator, (LocalRanks, NcclRanks)):
        return communicator
    if all(hasattr(communicator, name) for name in ("Get_rank", "Get_size", "Allgather", "Send", "Recv")):
        return MpiRanks(communicator)
    if all(hasattr(communicator, name) for name in ("rank", "num_ranks", "all_gather", "send", "receive")):
        return communicator
    raise TypeError(
        f"communicator must be hewn.LocalRanks, hewn.NcclRanks, an mpi4py communicator, or an object with rank, num_ranks, "
        f"all_gather, send and receive; got {type(communicator).__name__}"
    )


class NcclRanks(_hewn.NcclRanks):
    """Ranks of a model for GPUs, each on its own device, that transfer data by NVIDIA's NCCL.

    NCCL is libnccl.so.2, 2.14 or newer: `hewn.load(path, device=...,
    communicator=hewn.NcclRanks(over))`. The ranks connect through `over`: hewn.LocalRanks, an
    mpi4py communicator, or a custom object. A rank waits for the others at most `timeout` seconds.
    """

    def __init__(self, over: object, timeout: float = 30.0) -> None:
        super().__init__(ranks_of(over), timeout)
