# SPDX-License-Identifier: Apache-2.0
"""Cancels requests, as gRPC does when clients disconnect, while other requests are in progress, and
prints the results as JSON. test_mlserver.py starts this program, because it cannot import mlserver
itself (its protobuf messages have the same names as tritonclient's)."""

import asyncio
import concurrent.futures
import json
import sys
import threading
import time

from mlserver import ModelSettings
from mlserver.batching import load_batching
from mlserver.context import model_context
from mlserver.types import InferenceRequest, RequestInput
from mlserver_hewn import HewnModel


async def one(model, number):
    item = RequestInput(name="x", shape=[1, 4], datatype="FP32", data=[number] * 4)
    answer = await model.predict(InferenceRequest(inputs=[item]))
    return list(answer.outputs[0].data.root) == [3 * number + 1] * 4


async def batched(library):
    """Sends 15 requests that form one batch and cancels every third one while it waits. Does this
    twice. Returns the result of each request: those that were not cancelled must be correct, in
    both batches."""
    settings = ModelSettings(
        name="scaled", implementation=HewnModel, max_batch_size=16, max_batch_time=0.3, parameters={"uri": library}
    )
    with model_context(settings):
        model = HewnModel(settings)
        await load_batching(model)
        await model.load()
        right = []
        for _ in range(2):
            tasks = [asyncio.create_task(one(model, number)) for number in range(15)]
            await asyncio.sleep(0.05)
            for task in tasks[::3]:
                task.cancel()
            found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
            right.append([type(answer).__name__ if isinstance(answer, BaseException) else answer for answer in found])
        await model.unload()
    return right


async def unbatched(library):
    """Cancels a running request and sends another one. Then unloads the model while one request
    runs and one waits. Returns how the requests end, the maximum number of concurrent runs of the
    module, and the number of idle modules at the end."""
    settings = ModelSettings(name="scaled", implementation=HewnModel, parameters={"uri": library})
    with model_context(settings):
        model = HewnModel(settings)
        await model.load()
        module = model._contexts.modules[0]
        run, begun, now, most = module.run, threading.Event(), 0, 0

        def slow(feeds, **options):
            nonlocal now, most
            now += 1
            most = max(most, now)
            begun.set()
            time.sleep(0.3)
            now -= 1
            return run(feeds, **options)

        module.run = slow
        # By default, the executor has one thread for each module. One more thread reveals a
        # module that is returned too early.
        model._contexts.executor = concurrent.futures.ThreadPoolExecutor(2)
        cancelled = asyncio.create_task(one(model, 1))
        await asyncio.to_thread(begun.wait)
        cancelled.cancel()
        after = await asyncio.wait_for(one(model, 2), 30)
        begun.clear()
        running = asyncio.create_task(one(model, 3))
        await asyncio.to_thread(begun.wait)
        waiting = asyncio.create_task(one(model, 4))
        await asyncio.sleep(0.05)
        contexts = model._contexts
        await model.unload()
        found = await asyncio.wait_for(asyncio.gather(running, waiting, return_exceptions=True), 30)
        return {
            "cancelled": cancelled.cancelled(),
            "at once": most,
            "after": after,
            "running": found[0],
            "waiting": type(found[1]).__name__,
            "idle": contexts.idle.qsize(),
        }


async def main(library):
    print(json.dumps({"batched": await batched(library), "unbatched": await unbatched(library)}))


asyncio.run(main(sys.argv[1]))
