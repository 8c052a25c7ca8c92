# SPDX-License-Identifier: Apache-2.0
"""A program of test_mlserver.py's, which can't import mlserver: requests whose clients go away, as gRPC's cancel them, beside requests that have to
be answered. Prints JSON."""

import asyncio
import json
import sys

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
    """Of 15 requests that are one batch, every third is cancelled while it waits: the others' answers are right, and those of a batch after it."""
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


async def main(library):
    print(json.dumps({"batched": await batched(library)}))


asyncio.run(main(sys.argv[1]))
