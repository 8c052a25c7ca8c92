# SPDX-License-Identifier: Apache-2.0
"""Sends 64 concurrent requests to a model with MLServer's batcher, and prints the number of rows of
each run as JSON. test_mlserver.py starts this program, because it cannot import mlserver itself
(its protobuf messages have the same names as tritonclient's)."""

import asyncio
import json
import sys

from mlserver import ModelSettings
from mlserver.batching import load_batching
from mlserver.context import model_context
from mlserver.types import InferenceRequest, RequestInput
from mlserver_hewn import HewnModel


async def main(library):
    settings = ModelSettings(
        name="scaled", implementation=HewnModel, max_batch_size=16, max_batch_time=0.2, parameters={"uri": library}
    )
    rows = []
    with model_context(settings):
        model = HewnModel(settings)
        await load_batching(model)
        await model.load()
        module = model._contexts.modules[0]
        run = module.run

        def counted(feeds, **options):
            rows.append(len(feeds["x"]))
            return run(feeds, **options)

        module.run = counted

        async def one(number):
            item = RequestInput(name="x", shape=[1, 4], datatype="FP32", data=[number] * 4)
            answer = await model.predict(InferenceRequest(inputs=[item]))
            return list(answer.outputs[0].data.root) == [3 * number + 1] * 4

        right = await asyncio.gather(*[one(number) for number in range(64)])
    print(json.dumps([rows, all(right)]))


asyncio.run(main(sys.argv[1]))
