# SPDX-License-Identifier: Apache-2.0
"""A search over schedules on the nodes of a Ray cluster: who searches which part, and what becomes of the parts of nodes that are gone."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from . import nodes as on_node

# Workers have this package only where somebody has installed it.
ray.cloudpickle.register_pickle_by_value(on_node)

Say = Callable[[str], None]
# Seconds: between looks at Ctrl-C; until a node that is not there yet is told to be busy; that nodes have to remove their files, and to answer.
POLL, BUSY, CLOSING, ANSWERING = 0.5, 10, 10, 180
# What `hewn tune` refuses on two nodes it would refuse on all.
TRIES = 2
INTERRUPTED = 128 + signal.SIGINT


@dataclasses.dataclass(eq=False)
class Node:
    """A node of the cluster, and what it does."""

    id: str
    name: str
    cpus: float
    machine: str = ""
    searcher: Any = None
    step: str = ""  # "ready", "receive", "idle", "search" or, when it is gone, "gone"
    part: str = ""

    def only_here(self) -> NodeAffinitySchedulingStrategy:
        return NodeAffinitySchedulingStrategy(node_id=self.id, soft=False)


def nodes_of_cluster() -> list[Node]:
    """Those that are alive, in an order that does not change."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    found = [
        Node(one["NodeID"], f"{one['NodeManagerHostname']} ({one['NodeID'][:8]})", one["Resources"].get("CPU", 0))
        for one in alive
    ]
    return sorted(found, key=lambda node: node.id)


def nodes_that_can(flags: list[str], version: str, say: Say) -> list[Node]:
    """The nodes that can search by hewn of this version, with their machines; of all others `say` tells why they are left out. `flags`
    are those of targets."""
    asked, able = {}, []
    for node in nodes_of_cluster():
        if node.cpus < 1:
            say(f"{node.name} is left out: Ray may use no processor of it")
            continue
        task = ray.remote(num_cpus=0, max_retries=0)(on_node.ask)
        asked[task.options(scheduling_strategy=node.only_here()).remote(flags)] = node
    for answer, node in asked.items():
        try:
            told = ray.get(answer, timeout=ANSWERING)
        except RayError as problem:
            told = {"problem": why_of(problem)}
        if "problem" not in told and told["hewn"] != version:
            told = {"problem": f"it has hewn {told['hewn']}, and this is {version}"}
        if "problem" in told:
            say(f"{node.name} is left out: {told['problem']}")
        else:
            node.machine = told["machine"]
            able.append(node)
    return able


def why_of(problem: RayError) -> str:
    """What a task has raised, or that its node or its process is gone."""
    if isinstance(problem, RayTaskError):
        return f"{type(problem.cause).__name__}: {problem.cause}"
    return "it does not answer" if isinstance(problem, GetTimeoutError) else "it is gone"


@contextlib.contextmanager
def first_interrupt() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second one ends the program. Only in the main thread, which Ctrl-C is for."""
    happened = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield happened
        return

    def handle(number, frame):
        happened.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield happened
    finally:
        signal.signal(signal.SIGINT, before)


class ClusterSearch:
    """Parts of one search for each kind of machine: as many as it has nodes. A node searches one at a time and has all processors that Ray
    may use there, so nothing else of Ray's runs beside it."""

    def __init__(self, nodes: list[Node], files: list[tuple[str, list]], arguments: list[str], say: Say) -> None:
        self.nodes, self.files, self.arguments, self.say = nodes, files, arguments, say
        self.queues: dict[str, collections.deque[str]] = {}
        for machine, count in sorted(collections.Counter(node.machine for node in nodes).items()):
            self.queues[machine] = collections.deque(f"{number}/{count}" for number in range(1, count + 1))
        self.refusals: dict[tuple[str, str], dict[Node, str]] = collections.defaultdict(dict)
        self.waiting: dict[Any, Node] = {}
        self.warnings: set[str] = set()
        self.stopped = False
        # What came of it: files of parts; and why parts were not searched.
        self.tunings: list[str] = []
        self.problems: list[str] = []

    def run(self) -> None:
        """Until all parts are searched, or cannot be, or until Ctrl-C, after which the searches that run end with what they have."""
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
                            self.say(
                                f"{node.name} is not free yet: it takes part when other work of the cluster there has ended"
                            )
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
        """An answer of a node is there."""
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
            self.say(f"{node.name} is left out: {why}")
            return
        self.say(f"{node.name} is left out: {why}; part {node.part} of {node.machine} is for another node")
        self.queues[node.machine].appendleft(node.part)

    def _finish(self, node: Node, result: dict) -> None:
        where = f"part {node.part} of {node.machine} on {node.name}"
        for line in result["said"].splitlines():
            if line.startswith("warning: ") and line not in self.warnings:
                self.warnings.add(line)
                self.say(line)
        if result["status"] not in (0, INTERRUPTED):
            why = on_node.error_of(result["said"])
            if result["status"] < 0:
                why = f"hewn ended by signal {-result['status']}: {why}"
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
                f"{where}: {record['rounds']} rounds, {faster} of {len(searched)} kinds of kernel are faster by another schedule"
            )

    def _assign(self) -> None:
        """Parts to nodes that have nothing to do; those that no node is left for are problems."""
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
        self.say("Ctrl-C: the searches end with what they have; once more, and nothing is kept")
        for queue in self.queues.values():
            queue.clear()
        for node in self._at("search"):
            node.searcher.stop.remote()

    def _close(self) -> None:
        """Nodes remove their files, and are free again."""
        here = [node for node in self.nodes if node.searcher is not None and node.step != "gone"]
        closing = [node.searcher.close.remote() for node in here if node.step != "ready"]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=CLOSING)
        for node in here:
            with contextlib.suppress(RayError):
                ray.kill(node.searcher)
