# SPDX-License-Identifier: Apache-2.0
"""HewnModel: the model class that MLServer loads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import functools
import pathlib
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

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

UNPROCESSABLE = 422  # HTTP status if a model can't be loaded; FAILED_PRECONDITION in gRPC
BATCHERS = 64  # maximum number of batchers, one per combination of shapes and outputs


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of HewnModel, which are `parameters.extra` in model-settings.json."""

    threads: int = 1
    contexts: int = 1
    verify: bool = False
    cache_dir: str | None = None
    compile: dict[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, extra: dict[str, Any] | None) -> Options:
        """Creates options from JSON.

        Raises ValueError for unknown settings and values of wrong types.
        """
        extra = dict(extra or {})
        names = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(extra.keys() - names):
            raise ValueError(f"unknown settings in 'extra': {', '.join(unknown)}; expected {', '.join(sorted(names))}")
        options = cls(**extra)
        for name in ("threads", "contexts"):
            value = getattr(options, name)
            if type(value) is not int or value < 1:
                raise ValueError(f"'{name}' must be a positive integer, got {value!r}")
        if not isinstance(options.verify, bool) or not isinstance(options.compile, dict):
            raise ValueError("'verify' must be true or false, and 'compile' an object")
        return options


class Unloaded(Exception):
    """Raised for a request that was waiting when its model was unloaded."""


class Contexts:
    """A pool of modules of one library.

    The modules share code and weights, and each has its own arena and threads. A module runs one
    request at a time.
    """

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
        self.idle: asyncio.Queue[hewn.Module] = asyncio.Queue()
        for module in self.modules:
            self.idle.put_nowait(module)
        self.executor = concurrent.futures.ThreadPoolExecutor(options.contexts, thread_name_prefix="hewn")

    async def run(self, function: Callable[..., Any], *arguments: object) -> object:
        """Calls function(module, *arguments) in a thread, with the module of the pool that becomes idle next.

        If the waiting task is cancelled, the call continues, and the module becomes idle when the
        call ends.
        """
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
        """Waits for active runs, then closes the modules."""
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
    """MLServer model that runs a compiled library, or compiles an ONNX model when it is loaded.

    `parameters.uri` is the library, the model, or a folder with model.so or model.onnx;
    `parameters.extra` are Options. Up to `contexts` requests run concurrently, each with `threads`
    threads.
    """

    _contexts: Contexts | None = None

    async def load(self) -> bool:
        """Compiles the model if necessary, loads it and sets its inputs and outputs.

        Raises MLServerError (422) with the reason on failure.
        """
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
        """Waits for active runs, then unloads the library and frees its weights and memory."""
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
        """Replaces MLServer's batcher, if it is enabled, by one batcher per combination of shapes and outputs.

        MLServer's batcher concatenates all requests and uses the shape of the first one, so an
        invalid request makes all requests of a batch fail. Here, requests are checked before they
        are batched.
        """
        batched = self.__dict__.get(
            "predict"
        )  # the batcher replaces the method in the instance; otherwise batching is disabled
        if batched is None:
            return
        plain = types.SimpleNamespace(settings=self.settings, predict=functools.partial(type(self).predict, self))
        batchers: OrderedDict[tuple[Any, ...], AdaptiveBatcher] = OrderedDict()

        @functools.wraps(batched)
        async def predict(payload: InferenceRequest) -> InferenceResponse:
            key = self._checked(payload)
            batcher = batchers.get(key)
            if batcher is None:
                batcher = batchers[key] = AdaptiveBatcher(plain)
                if len(batchers) > BATCHERS:
                    # The task of the removed batcher keeps it alive until its requests complete.
                    batchers.popitem(last=False)
            batchers.move_to_end(key)
            # A client that disconnects cancels its request. Without the shield, MLServer's batcher
            # would not respond to any request of the batch.
            return await asyncio.shield(asyncio.ensure_future(batcher.predict(payload)))

        self.predict = predict  # type: ignore[method-assign] # the batcher calls the original method

    def _checked(self, payload: InferenceRequest) -> tuple[Any, ...]:
        """Replaces the input data of a request by arrays.

        Returns the key of the request: requests with equal keys can be batched.
        """
        try:
            arrays = self._arrays(payload)
            asked = tensors.chosen([o.name for o in payload.outputs or ()], list(self._outputs))
            rows = {array.shape[0] for array in arrays.values()}
            if len(rows) != 1:
                raise tensors.BadRequest(
                    "inputs have different numbers of rows: "
                    + ", ".join(f"'{n}' {a.shape[0]}" for n, a in arrays.items())
                )
        except tensors.BadRequest as problem:
            raise InferenceError(str(problem)) from None
        for item in payload.inputs:
            item.data = arrays[item.name].ravel()
            item.parameters = None  # the batched input is an array and has no content type
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
        """Runs the model. An invalid request is a client error (400), which names the input."""
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
            # Types and shapes of the inputs were checked before the run. So a failed run has
            # inconsistent dims or indices (status 400), or is out of memory (status 500).
            status = 500 if "out of memory" in str(problem) else 400
            raise MLServerError(str(problem), status) from None
        return InferenceResponse(model_name=self.name, model_version=self.version, id=payload.id, outputs=outputs)
