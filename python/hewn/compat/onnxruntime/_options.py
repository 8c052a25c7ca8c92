# SPDX-License-Identifier: Apache-2.0
"""Options of sessions and runs, and what each means for a compiled model.

What has no meaning is taken in silence where ignoring it changes nothing that a program can see, as docs/python/onnxruntime.md lists; what asks for something
that is not done is a warning when the session is made, or an error.
"""

from __future__ import annotations

import enum
import os
import pathlib
import warnings
from typing import ClassVar, get_type_hints


class _Number(enum.Enum):
    """A name that is no number, but has one."""

    def __int__(self) -> int:
        return self.value


class GraphOptimizationLevel(_Number):
    """How far the graph is rewritten: here always as far as it goes."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Number):
    """Whether nodes run beside each other: here never, each kernel is divided over the threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_Number):
    """In which order nodes run: here in that of the plan, which keeps memory small."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def _wrong_type(what: str, wanted: type, value: object) -> TypeError:
    return TypeError(f"{what} is {wanted.__name__}, not {type(value).__name__}")


class _Fields:
    """Attributes of fixed names and types, which a class declares, as those of a class of C++."""

    _types: ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls) -> None:
        cls._types = {name: hint for name, hint in get_type_hints(cls).items() if not name.startswith("_")}

    def __setattr__(self, name: str, value: object) -> None:
        wanted = self._types.get(name)
        if wanted is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if wanted is bool and hasattr(type(value), "__bool__"):  # None has one
            value = bool(value)
        elif wanted is str and isinstance(value, os.PathLike):
            value = os.fspath(value)
        elif wanted is int and not isinstance(value, (bool, int)) and hasattr(value, "__index__"):
            value = value.__index__()
        if not isinstance(value, wanted):
            raise _wrong_type(name, wanted, value)
        object.__setattr__(self, name, value)


class _Entries(_Fields):
    """Settings by name, both of them text."""

    _entries: dict[str, str]

    def _start(self) -> None:
        object.__setattr__(self, "_entries", {})

    def _set_entry(self, key: str, value: str) -> None:
        for text in (key, value):
            if not isinstance(text, str):
                raise _wrong_type("a configuration's key and value", str, text)
        self._entries[key] = value

    def _entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}")
        return self._entries[key]


# Settings of hewn's own, for SessionOptions.add_session_config_entry.
OWN_ENTRIES = ("hewn.cache_dir", "hewn.precision", "hewn.target")


def default_cache_folder() -> str | None:
    """Where compiled models are kept: `HEWN_CACHE_DIR` (empty: nowhere), or hewn/artifacts in the user's folder of caches."""
    if (told := os.environ.get("HEWN_CACHE_DIR")) is not None:
        return told or None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return str(pathlib.Path(home) / "hewn" / "artifacts") if os.path.isabs(home) else None


class SessionOptions(_Entries):
    """How a session is made. `intra_op_num_threads` are the threads of a run, 0 as many as there are cores; other fields are listed in the docs."""

    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    enable_profiling: bool
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    graph_optimization_level: GraphOptimizationLevel
    inter_op_num_threads: int
    intra_op_num_threads: int
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    optimized_model_filepath: str
    profile_file_prefix: str
    use_deterministic_compute: bool
    use_per_session_threads: bool
    _dims: dict[str, int]
    _denoted: dict[str, int]

    def __init__(self) -> None:
        self._start()
        object.__setattr__(self, "_dims", {})
        object.__setattr__(self, "_denoted", {})
        self.enable_cpu_mem_arena = self.enable_mem_pattern = self.enable_mem_reuse = True
        self.enable_profiling = self.use_deterministic_compute = False
        self.use_per_session_threads = True
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.inter_op_num_threads = self.intra_op_num_threads = 0
        self.log_severity_level, self.log_verbosity_level = -1, 0
        self.logid = self.optimized_model_filepath = ""
        self.profile_file_prefix = "onnxruntime_profile_"

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Sets one of onnxruntime's settings, which mean nothing here, or of hewn's: "hewn.cache_dir" ("": none), "hewn.precision", "hewn.target"."""
        if isinstance(key, str) and key.startswith("hewn.") and key not in OWN_ENTRIES:
            raise ValueError(f"there is no setting '{key}'; hewn's are {', '.join(OWN_ENTRIES)}")
        self._set_entry(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """A setting; RuntimeError where it was not set."""
        return self._entry(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Binds the dim that the model calls `name`: the code is for this size alone."""
        if not isinstance(name, str) or not isinstance(size, int):
            raise TypeError("a dim's name is text and its size a number")
        self._dims[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """The same of all dims of inputs that denote something ("DATA_BATCH")."""
        if not isinstance(denotation, str) or not isinstance(size, int):
            raise TypeError("what a dim denotes is text and its size a number")
        self._denoted[denotation] = size

    def register_custom_ops_library(self, path: str) -> None:
        """Refused: such a library holds kernels of onnxruntime's. hewn.compile(custom_ops=...) takes ops in C (docs/custom-ops.md)."""
        from .capi.onnxruntime_pybind11_state import NotImplemented

        raise NotImplemented.told(
            f"'{path}' has kernels for onnxruntime: hewn takes ops in C, by hewn.compile(custom_ops=)"
        )

    def _refuse_initializers(self, *_: object) -> None:
        from .capi.onnxruntime_pybind11_state import NotImplemented

        raise NotImplemented.told("initializers come from the model's file and what it names, not from the program")

    add_initializer = _refuse_initializers
    add_external_initializers = _refuse_initializers
    add_external_initializers_from_files_in_memory = _refuse_initializers

    def _warn(self, stacklevel: int) -> None:
        """Says what of these options is not done."""
        told = []
        if self.enable_profiling:
            told.append("enable_profiling: no profile is written; `hewn profile` writes one of a compiled model")
        if self.optimized_model_filepath:
            told.append("optimized_model_filepath: nothing is written there; a model is compiled, not rewritten")
        for text in told:
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)

    def _compile_options(self) -> dict:
        """What hewn.compile is told."""
        cache = self._entries.get("hewn.cache_dir", default_cache_folder())
        options: dict = {"threads": _threads(self.intra_op_num_threads), "cache_dir": _made(cache)}
        options["precision"] = self._entries.get("hewn.precision", "highest")
        options["target"] = self._entries.get("hewn.target", "host")
        return options


def _made(folder: str | None) -> str | None:
    """A folder of the user's own: what is in it is code. None where it can't be made, and nothing is kept then."""
    if not folder:
        return None
    try:
        pathlib.Path(folder).parent.mkdir(parents=True, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return folder
    except OSError:
        return None


def _threads(wanted: int) -> int:
    """0 and less: one for each core that this process may use, not for each of its hardware threads."""
    most = 1024  # the runtime's own bound
    if wanted > 0:
        return min(wanted, most)
    cores = set()
    for processor in os.sched_getaffinity(0):
        try:
            siblings = f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list"
            cores.add(pathlib.Path(siblings).read_text())
        except OSError:
            cores.add(str(processor))
    return min(max(len(cores), 1), most)


class RunOptions(_Entries):
    """Options of a run. `terminate` ends it before it begins; the others mean nothing here."""

    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool
    terminate: bool

    def __init__(self) -> None:
        self._start()
        self.log_severity_level, self.log_verbosity_level, self.logid = -1, 0, ""
        self.only_execute_path_to_fetches = self.terminate = False

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Sets one of onnxruntime's settings, which mean nothing here."""
        self._set_entry(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """A setting; RuntimeError where it was not set."""
        return self._entry(key)
