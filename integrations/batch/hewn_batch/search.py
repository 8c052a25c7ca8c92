# SPDX-License-Identifier: Apache-2.0
"""Distributes a schedule search over the nodes of a Ray cluster, and reassigns the parts of nodes that fail."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from . import nodes as on_node

# Send the module `nodes` to workers by value, since this package may not be installed there.
ray.cloudpickle.register_pickle_by_value(on_node)

Say = Callable[[str], None]
# Times in seconds: interval of checks for Ctrl-C; delay before nodes that are not ready are
# reported as busy; time limits for nodes to remove their files and to respond.
POLL, BUSY, CLOSING, ANSWERING = 0.5, 10, 10, 180
# Number of nodes on which a part of the search may fail before it is given up.
TRIES = 2
INTERRUPTED = 128 + signal.SIGINT


@dataclasses.dataclass(eq=False)
class Node:
    """A node of the Ray cluster and the state of its search."""

    id: str
    name: str
    cpus: float
    machine: str = ""
    searcher: Any = None
    step: str = ""  # "ready", "receive", "idle", "search", or "gone" if the node has failed
    part: str = ""

    def only_here(self) -> NodeAffinitySchedulingStrategy:
        """Strategy that schedules a task on this node only."""
        return NodeAffinitySchedulingStrategy(node_id=self.id, soft=False)


def nodes_of_cluster() -> list[Node]:
    """Returns the nodes that are alive, sorted by id."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    found = [
        Node(one["NodeID"], f"{one['NodeManagerHostname']} ({one['NodeID'][:8]})", one["Resources"].get("CPU", 0))
        for one in alive
    ]
    return sorted(found, key=lambda node: node.id)


def nodes_that_can(flags: list[str], version: str, say: Say) -> list[Node]:
    """Returns the nodes that can search with this version of hewn, with `machine` set.

    Calls `say` with the reason for each other node. `flags` are the target flags.
    """
    asked, able = {}, []
    for node in nodes_of_cluster():
        if node.cpus < 1:
            say(f"{node.name} is skipped: Ray has no processors on it")
            continue
        task = ray.remote(num_cpus=0, max_retries=0)(on_node.ask)
        asked[task.options(scheduling_strategy=node.only_here()).remote(flags)] = node
    for answer, node in asked.items():
        try:
            told = ray.get(answer, timeout=ANSWERING)
        except RayError as problem:
            told = {"problem": why_of(problem)}
        if "problem" not in told and told["hewn"] != version:
            told = {"problem": f"it has hewn {told['hewn']}, but this machine has {version}"}
        if "problem" in told:
            say(f"{node.name} is skipped: {told['problem']}")
        else:
            node.machine = told["machine"]
            able.append(node)
    return able


def why_of(problem: RayError) -> str:
    """Returns a text that says why a Ray task failed: its exception, or the failure of its node or process."""
    if isinstance(problem, RayTaskError):
        return f"{type(problem.cause).__name__}: {problem.cause}"
    return "it does not respond" if isinstance(problem, GetTimeoutError) else "it is gone"


@contextlib.contextmanager
def first_interrupt() -> Iterator[threading.Event]:
    """Yields an event that the first Ctrl-C sets.

    The second Ctrl-C raises KeyboardInterrupt. Does not change signal handling if called outside of
    the main thread.
    """
    happened = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield happened
        return

    def handle(number: int, frame: FrameType | None) -> None:
        happened.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield happened
    finally:
        signal.signal(signal.SIGINT, before)


class ClusterSearch:
    """Runs one search per type of machine.

    The search is divided into as many parts as there are nodes of that type. A node searches one
    part at a time and reserves all its processors in Ray, so that no other Ray task disturbs the
    measurements.
    """

    def __init__(self, nodes: list[Node], files: list[tuple[str, list[Any]]], arguments: list[str], say: Say) -> None:
        self.nodes, self.files, self.arguments, self.say = nodes, files, arguments, say
        self.queues: dict[str, collections.deque[str]] = {}
        for machine, count in sorted(collections.Counter(node.machine for node in nodes).items()):
            self.queues[machine] = collections.deque(f"{number}/{count}" for number in range(1, count + 1))
        self.refusals: dict[tuple[str, str], dict[Node, str]] = collections.defaultdict(dict)
        self.waiting: dict[Any, Node] = {}
        self.warnings: set[str] = set()
        self.stopped = False
        # Results: the contents of the tuning files of the parts, and why other parts were not
        # searched.
        self.tunings: list[str] = []
        self.problems: list[str] = []

    def run(self) -> None:
        """Searches until all parts are done or have failed.

        On Ctrl-C, interrupts the active searches, which keep their results.
        """
        begin, told_busy = time.monotonic(), False
        try:
            with first_interrupt() as interrupted:
                for node in self.nodes:
                    actor = ray.remote(num_cpus=node.cpus, max_restarts=0, max_task_retries=0, max_concurrency=2)
                    node.searcher = actor(on_node.Searcher).options(scheduling_strategy=node.only_here()).remote()
                    self._wait(node, "ready", node.searcher.ready.remote())
                while not self._is_done():
                    done, _ = ray.wait(list(self.waiting), timeout=POLL)
                    if interrupted.is_set() and not self.stopped:
                        self._stop()
                    for answer in done:
                        if answer in self.waiting:
                            self._take(answer)
                    self._assign()
                    if not told_busy and time.monotonic() - begin > BUSY:
                        told_busy = True
                        for node in self._at("ready"):
                            self.say(f"{node.name} is busy: it will join when other Ray tasks on it have finished")
        finally:
            self._close()

    def _at(self, *steps: str) -> list[Node]:
        return [node for node in self.nodes if node.step in steps]

    def _is_done(self) -> bool:
        return not self.waiting or not (any(self.queues.values()) or self._at("search"))

    def _wait(self, node: Node, step: str, answer: Any) -> None:
        node.step = step
        self.waiting[answer] = node

    def _take(self, answer: Any) -> None:
        """Handles a completed call of a node and starts the next step of the node."""
        node = self.waiting.pop(answer)
        try:
            result = ray.get(answer)
        except RayError as problem:
            self._lose(node, why_of(problem))
            return
        if node.step == "ready":
            self._wait(node, "receive", node.searcher.receive.remote(self.files))
            return
        if node.step == "search":
            self._finish(node, result)
        node.step = "idle"

    def _lose(self, node: Node, why: str) -> None:
        searched, node.step = node.step == "search", "gone"
        with contextlib.suppress(RayError):
            ray.kill(node.searcher)
        if not searched or self.stopped:
            self.say(f"{node.name} is skipped: {why}")
            return
        self.say(f"{node.name} is skipped: {why}; another node will search part {node.part} of {node.machine}")
        self.queues[node.machine].appendleft(node.part)

    def _finish(self, node: Node, result: dict[str, Any]) -> None:
        where = f"part {node.part} of {node.machine} on {node.name}"
        for line in result["said"].splitlines():
            if line.startswith("warning: ") and line not in self.warnings:
                self.warnings.add(line)
                self.say(line)
        if result["status"] not in (0, INTERRUPTED):
            why = on_node.error_of(result["said"])
            if result["status"] < 0:
                why = f"hewn was terminated by signal {-result['status']}: {why}"
            self.refusals[node.machine, node.part][node] = why
            if not self.stopped:
                self.say(f"{where} failed: {why}")
                self.queues[node.machine].appendleft(node.part)
            return
        if result["tuning"]:
            self.tunings.append(result["tuning"])
        if record := result["record"]:
            searched = [kernel for kernel in record["kernels"] if kernel["tried"] > 1]
            faster = sum(kernel["schedule"] != kernel["model"] for kernel in searched)
            self.say(
                f"{where}: {record['rounds']} rounds, {faster} of {len(searched)} distinct kernels are faster with another schedule"
            )

    def _assign(self) -> None:
        """Assigns parts to idle nodes.

        Records a problem for each part that no remaining node can search.
        """
        for machine, queue in self.queues.items():
            for node in self._at("idle"):
                part = next((part for part in queue if node not in self.refusals[machine, part]), None)
                if node.machine == machine and part and len(self.refusals[machine, part]) < TRIES:
                    queue.remove(part)
                    node.part = part
                    self._wait(node, "search", node.searcher.search.remote(self.arguments, part))
            group = [node for node in self.nodes if node.machine == machine and node.step != "gone"]
            for part in list(queue):
                refused = self.refusals[machine, part]
                if len(refused) >= TRIES or not set(group) - set(refused):
                    queue.remove(part)
                    why = "; ".join(dict.fromkeys(refused.values())) or "no node is left"
                    self.problems.append(f"part {part} of {machine} was not searched: {why}")

    def _stop(self) -> None:
        self.stopped = True
        self.say("Ctrl-C: stopping the searches and keeping their results; press Ctrl-C again to discard them")
        for queue in self.queues.values():
            queue.clear()
        for node in self._at("search"):
            node.searcher.stop.remote()

    def _close(self) -> None:
        """Makes the nodes remove their files, then releases them."""
        here = [node for node in self.nodes if node.searcher is not None and node.step != "gone"]
        closing = [node.searcher.close.remote() for node in here if node.step != "ready"]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=CLOSING)
        for node in here:
            with contextlib.suppress(RayError):
                ray.kill(node.searcher)
