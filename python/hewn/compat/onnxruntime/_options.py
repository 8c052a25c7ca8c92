# SPDX-License-Identifier: Apache-2.0
"""Options of sessions and runs, and their meaning for a compiled model.

An option without meaning is ignored if this has no visible effect (docs/python/onnxruntime.md lists
them). An option that requests something unsupported causes a warning when the session is created,
or an error.
"""

from __future__ import annotations

import enum
import os
import pathlib
import warnings
from typing import Any, ClassVar, get_type_hints


class _Number(enum.Enum):
    """Base class of enumerations whose members convert to int but are not ints."""

    def __int__(self) -> int:
        return int(self.value)


class GraphOptimizationLevel(_Number):
    """Level of graph optimizations. Ignored: all optimizations are enabled."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(_Number):
    """Whether nodes run in parallel. Ignored: each kernel is divided among the threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(_Number):
    """Execution order of nodes. Ignored: the compiler chooses an order that minimizes memory."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def _wrong_type(what: str, wanted: type, value: object) -> TypeError:
    return TypeError(f"{what} must be {wanted.__name__}, got {type(value).__name__}")


class _Fields:
    """Base class of objects whose attributes have fixed names and types, like those of a C++ class.

    The derived class declares the attributes.
    """

    _types: ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls) -> None:
        cls._types = {name: hint for name, hint in get_type_hints(cls).items() if not name.startswith("_")}

    def __setattr__(self, name: str, value: object) -> None:
        wanted = self._types.get(name)
        if wanted is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        # None has __bool__, too, and sets the option to False.
        if wanted is bool and hasattr(type(value), "__bool__"):
            value = bool(value)
        elif wanted is str and isinstance(value, os.PathLike):
            value = os.fspath(value)
        elif wanted is int and not isinstance(value, (bool, int)) and hasattr(value, "__index__"):
            value = value.__index__()
        if not isinstance(value, wanted):
            raise _wrong_type(name, wanted, value)
        object.__setattr__(self, name, value)


class _Entries(_Fields):
    """Settings of a session or a run by their names. Names and values are strings."""

    _entries: dict[str, str]

    def _start(self) -> None:
        object.__setattr__(self, "_entries", {})

    def _set_entry(self, key: str, value: str) -> None:
        for text in (key, value):
            if not isinstance(text, str):
                raise _wrong_type("key and value of a configuration", str, text)
        self._entries[key] = value

    def _entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}")
        return self._entries[key]


# Settings of hewn for SessionOptions.add_session_config_entry.
OWN_ENTRIES = ("hewn.cache_dir", "hewn.precision", "hewn.target")


def default_cache_folder() -> str | None:
    """Returns the cache folder for compiled models.

    The folder is `HEWN_CACHE_DIR` (empty: no cache), or hewn/artifacts in the user's cache folder.
    """
    if (told := os.environ.get("HEWN_CACHE_DIR")) is not None:
        return told or None
    # Path.expanduser raises an error if the home folder is unknown.
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111
    return str(home / "hewn" / "artifacts") if home.is_absolute() else None


class SessionOptions(_Entries):
    """Options of a session.

    `intra_op_num_threads` is the number of threads of a run; 0 means the number of cores. The
    documentation describes the other fields.
    """

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
        """Sets a setting of onnxruntime (ignored) or of hewn.

        The settings of hewn are "hewn.cache_dir" ("": none), "hewn.precision" and "hewn.target".
        """
        if isinstance(key, str) and key.startswith("hewn.") and key not in OWN_ENTRIES:
            raise ValueError(f"unknown setting '{key}'; hewn's settings are {', '.join(OWN_ENTRIES)}")
        self._set_entry(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """Returns a setting. Raises RuntimeError if it is not set."""
        return self._entry(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Binds the dim `name` of the model: the code only supports this size."""
        if not isinstance(name, str) or not isinstance(size, int):
            raise TypeError("the name of a dim must be str, its size int")
        self._dims[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Binds all dims of inputs with this denotation ("DATA_BATCH")."""
        if not isinstance(denotation, str) or not isinstance(size, int):
            raise TypeError("the denotation of a dim must be str, its size int")
        self._denoted[denotation] = size

    def register_custom_ops_library(self, path: str) -> None:
        """Raises NotImplemented: such a library has kernels for onnxruntime.

        Use hewn.compile(custom_ops=...) for ops in C (docs/custom-ops.md).
        """
        from .capi.onnxruntime_pybind11_state import NotImplemented

        raise NotImplemented.told(f"'{path}' has kernels for onnxruntime: use hewn.compile(custom_ops=) for ops in C")

    def _refuse_initializers(self, *_: object) -> None:
        from .capi.onnxruntime_pybind11_state import NotImplemented

        raise NotImplemented.told("initializers must be in the model file or its external data")

    add_initializer = _refuse_initializers
    add_external_initializers = _refuse_initializers
    add_external_initializers_from_files_in_memory = _refuse_initializers

    def _warn(self, stacklevel: int) -> None:
        """Warns about unsupported options."""
        told = []
        if self.enable_profiling:
            told.append("enable_profiling: the profile has the time of each run; use `hewn profile` for kernels")
        if self.optimized_model_filepath:
            told.append("optimized_model_filepath: no file is written; models are compiled")
        for text in told:
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)

    def _compile_options(self) -> dict[str, Any]:
        """Returns the options for hewn.compile."""
        cache = self._entries.get("hewn.cache_dir", default_cache_folder())
        options: dict[str, Any] = {"threads": _threads(self.intra_op_num_threads), "cache_dir": _made(cache)}
        options["precision"] = self._entries.get("hewn.precision", "highest")
        options["target"] = self._entries.get("hewn.target", "host")
        return options


def _made(folder: str | None) -> str | None:
    """Creates the cache folder for compiled models.

    Only the user can access it, because it contains code. Returns None if it cannot be created;
    then compiled models are not cached.
    """
    if not folder:
        return None
    try:
        pathlib.Path(folder).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(folder).mkdir(mode=0o700, exist_ok=True)
        return folder
    except OSError:
        return None


def _threads(wanted: int) -> int:
    """Returns the number of threads; for 0 and less, the number of physical cores that this process may use."""
    most = 1024  # the runtime's maximum number of threads
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
    """Options of a run. `terminate` prevents the run; the others are ignored."""

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
        """Sets a setting of onnxruntime, which is ignored."""
        self._set_entry(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """Returns a setting. Raises RuntimeError if it is not set."""
        return self._entry(key)
