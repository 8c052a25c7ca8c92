# SPDX-License-Identifier: Apache-2.0
"""The runtime that MLServer loads: mlserver_hewn.HewnModel."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import functools
import pathlib
import types
from collections import OrderedDict
from collections.abc import Callable

import hewn
import numpy as np
from mlserver import MLModel
from mlserver.batching import AdaptiveBatcher
from mlserver.errors import InferenceError, MLServerError, ModelNotReady
from mlserver.types import (
    InferenceRequest,
    InferenceResponse,
    MetadataTensor,
    Parameters,
    RequestInput,
    ResponseOutput,
)
from mlserver.utils import get_model_uri

from . import artifacts, tensors

UNPROCESSABLE = 422  # what MLServer answers where a model can't be loaded; gRPC's FAILED_PRECONDITION
BATCHERS = 64  # shapes whose requests are waiting to be put together, at most


@dataclasses.dataclass(frozen=True)
class Options:
    """`parameters.extra` of model-settings.json."""

    threads: int = 1
    contexts: int = 1
    verify: bool = False
    cache_dir: str | None = None
    compile: dict = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, extra: dict | None) -> Options:
        """ValueError names what is not known or not of its type."""
        extra = dict(extra or {})
        names = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(extra.keys() - names):
            raise ValueError(f"no such setting in 'extra': {', '.join(unknown)}; there are {', '.join(sorted(names))}")
        options = cls(**extra)
        for name in ("threads", "contexts"):
            value = getattr(options, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"'{name}' is a whole number from 1 on, not {value!r}")
        if not isinstance(options.verify, bool) or not isinstance(options.compile, dict):
            raise ValueError("'verify' is true or false, 'compile' an object")
        return options


class Unloaded(Exception):
    """The model went away while a request waited."""


class Contexts:
    """Modules of one library: code and weights are there once, an arena and threads for each. A request has one to itself."""

    def __init__(self, library: pathlib.Path, options: Options) -> None:
        self.modules: list[hewn.Module] = []
        try:
            for _ in range(options.contexts):
                self.modules.append(
                    hewn.load(library, threads=options.threads, verify=options.verify and not self.modules)
                )
        except BaseException:
            self.close()
            raise
        self.closed = False
        self.idle = asyncio.Queue()
        for module in self.modules:
            self.idle.put_nowait(module)
        self.executor = concurrent.futures.ThreadPoolExecutor(options.contexts, thread_name_prefix="hewn")

    async def run(self, function: Callable, *arguments: object) -> object:
        """function(module, *arguments) in a thread, with the first module that is idle. A run goes on where the one that waits for it is
        cancelled: the module is idle when it ends, and not before."""
        module = await self.idle.get()
        try:
            if self.closed:
                raise Unloaded
            run = asyncio.get_running_loop().run_in_executor(self.executor, function, module, *arguments)
        except BaseException:
            self.idle.put_nowait(module)
            raise
        run.add_done_callback(lambda _: self.idle.put_nowait(module))
        return await asyncio.shield(run)

    def close(self) -> None:
        """Waits for runs that are under way."""
        if hasattr(self, "executor"):
            self.executor.shutdown()
        for module in self.modules:
            module.close()


def _request_input(item: RequestInput, tensor: hewn.Tensor) -> np.ndarray:
    data = getattr(item.data, "root", item.data)
    content_type = item.parameters.content_type if item.parameters else None
    datatype = getattr(item.datatype, "value", item.datatype)
    return tensors.array_of(tensor, datatype, item.shape, data, content_type)


class HewnModel(MLModel):
    """A library that hewn has compiled, or a model that is compiled when it is loaded, in MLServer.

    `parameters.uri` is the library, the model, or a folder with model.so or model.onnx; `parameters.extra` is Options. Requests run at the same
    time on `contexts` of the model, each with `threads`.
    """

    _contexts: Contexts | None = None

    async def load(self) -> bool:
        """Compiles if need be, loads, and says inputs and outputs. MLServerError (422) where that can't be, with the reason."""
        uri = await get_model_uri(self.settings, wellknown_filenames=[artifacts.LIBRARY, artifacts.MODEL])
        try:
            options = Options.of(self.settings.parameters.extra)
            cache = pathlib.Path(options.cache_dir) if options.cache_dir else None
            library = await asyncio.to_thread(artifacts.library_of, uri, cache, options.compile)
            contexts = await asyncio.to_thread(Contexts, library, options)
        except (hewn.CompileError, hewn.RunError, ValueError, TypeError, OSError) as problem:
            raise MLServerError(f"model '{self.name}': {problem}", UNPROCESSABLE) from problem
        try:
            self._describe(contexts.modules[0])
        except tensors.Unservable as problem:
            contexts.close()
            raise MLServerError(f"model '{self.name}': {problem}", UNPROCESSABLE) from None
        self._contexts = contexts
        self._batch()
        return True

    async def unload(self) -> bool:
        """Gives the library, its weights and its memory back, after the runs that are under way."""
        contexts, self._contexts = self._contexts, None
        if contexts is not None:
            contexts.closed = True
            await asyncio.to_thread(contexts.close)
        return True

    def _describe(self, module: hewn.Module) -> None:
        self._inputs = {tensor.name: tensor for tensor in module.inputs}
        self._outputs = {tensor.name: tensor for tensor in module.outputs}
        told = {}
        for role, found in (("input", module.inputs), ("output", module.outputs)):
            told[role] = [
                MetadataTensor(name=t.name, datatype=tensors.datatype_of(t, role), shape=tensors.shape_of(t))
                for t in found
            ]
        if self.settings.max_batch_size > 1:
            tensors.batch_dim(module.inputs, module.outputs)
        self.inputs, self.outputs = told["input"], told["output"]
        if not self.settings.platform:
            self.settings.platform = "hewn"

    def _batch(self) -> None:
        """MLServer's batcher puts together what it gets and takes the first request's shape for all, so that one bad request spoils its
        neighbours'. Where it stands in front of this model, requests are looked at before it, and those of unlike shapes or outputs get
        batchers of their own."""
        batched = self.__dict__.get(
            "predict"
        )  # the batcher's decoration stands in the instance; without it there is none
        if batched is None:
            return
        plain = types.SimpleNamespace(settings=self.settings, predict=functools.partial(type(self).predict, self))
        batchers: OrderedDict[tuple, AdaptiveBatcher] = OrderedDict()

        @functools.wraps(batched)
        async def predict(payload: InferenceRequest) -> InferenceResponse:
            key = self._checked(payload)
            batcher = batchers.get(key)
            if batcher is None:
                batcher = batchers[key] = AdaptiveBatcher(plain)
                if len(batchers) > BATCHERS:
                    batchers.popitem(last=False)  # what waits in it is answered: its task holds it
            batchers.move_to_end(key)
            # A client that goes away cancels its request: MLServer's batcher would then forget it, and answer none of those beside it.
            return await asyncio.shield(asyncio.ensure_future(batcher.predict(payload)))

        self.predict = predict

    def _checked(self, payload: InferenceRequest) -> tuple:
        """Makes arrays of a request's data, in place; what it has to have in common with those that it is put together with."""
        try:
            arrays = self._arrays(payload)
            asked = tensors.chosen([o.name for o in payload.outputs or ()], list(self._outputs))
            rows = {array.shape[0] for array in arrays.values()}
            if len(rows) != 1:
                raise tensors.BadRequest(
                    "inputs have unlike numbers of rows: " + ", ".join(f"'{n}' {a.shape[0]}" for n, a in arrays.items())
                )
        except tensors.BadRequest as problem:
            raise InferenceError(str(problem)) from None
        for item in payload.inputs:
            item.data = arrays[item.name].ravel()
            item.parameters = None  # a batch has no content type
        return (*((n, arrays[n].shape[1:]) for n in self._inputs), *asked)

    def _arrays(self, payload: InferenceRequest) -> dict[str, np.ndarray]:
        tensors.expect_names([item.name for item in payload.inputs], list(self._inputs))
        return {item.name: _request_input(item, self._inputs[item.name]) for item in payload.inputs}

    def _run(self, module: hewn.Module, payload: InferenceRequest) -> list[ResponseOutput]:
        asked = tensors.chosen([o.name for o in payload.outputs or ()], list(self._outputs))
        results = module.run(self._arrays(payload), outputs=asked)
        answers = []
        for name, array in results.items():
            data, content_type = tensors.data_of(array)
            answers.append(
                ResponseOutput(
                    name=name,
                    shape=list(array.shape),
                    datatype=tensors.datatype_of(self._outputs[name], "output"),
                    data=data,
                    parameters=Parameters(content_type=content_type) if content_type else None,
                )
            )
        return answers

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """Runs the model. A request that does not fit it is the client's error (400) and names the input."""
        contexts = self._contexts
        if contexts is None:
            raise ModelNotReady(self.name, self.version)
        try:
            outputs = await contexts.run(self._run, payload)
        except Unloaded:
            raise ModelNotReady(self.name, self.version) from None
        except tensors.BadRequest as problem:
            raise InferenceError(str(problem)) from None
        except hewn.RunError as problem:
            # What was looked at before fits in types and shapes: what is left are dims that do not fit together and indices, or memory.
            status = 500 if "out of memory" in str(problem) else 400
            raise MLServerError(str(problem), status) from None
        return InferenceResponse(model_name=self.name, model_version=self.version, id=payload.id, outputs=outputs)
