# SPDX-License-Identifier: Apache-2.0
"""Tests hewn's backend in Triton's server over HTTP and gRPC."""

import concurrent.futures
import json
import re
import time

import ml_dtypes
import numpy as np
import pytest
from server import Server, get, why_no_server, write_models

pytestmark = pytest.mark.skipif(bool(why_no_server()), reason=why_no_server() or "-")

TYPES = {
    np.dtype(np.float32): "FP32",
    np.dtype(np.float16): "FP16",
    np.dtype(ml_dtypes.bfloat16): "BF16",
    np.dtype(np.float64): "FP64",
    np.dtype(np.int64): "INT64",
    np.dtype(bool): "BOOL",
    np.dtype(object): "BYTES",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("triton")
    repository = folder / "repository"
    write_models(folder, repository)
    config = repository / "picked/config.pbtxt"
    text = config.read_text().replace("count: 1", "count: 2")
    config.write_text(text.replace("dynamic_batching { }", "dynamic_batching { max_queue_delay_microseconds: 20000 }"))
    (repository / "twice/1").mkdir(parents=True)
    (repository / "twice/config.pbtxt").write_text(ENSEMBLE)
    with Server(repository, folder / "log", "--model-control-mode=explicit", "--load-model=*") as server:
        yield server
    assert server.status == 0, (folder / "log").read_text()[-4000:]


ENSEMBLE = """
platform: "ensemble"
max_batch_size: 64
input [ { name: "A" data_type: TYPE_BOOL dims: [ 4 ] } ]
input [ { name: "B" data_type: TYPE_FP16 dims: [ 4 ] } ]
input [ { name: "C" data_type: TYPE_BF16 dims: [ 4 ] } ]
output [ { name: "Z" data_type: TYPE_FP16 dims: [ 4 ] } ]
ensemble_scheduling { step [
  { model_name: "narrow" model_version: -1
    input_map { key: "a" value: "C" } input_map { key: "b" value: "B" } input_map { key: "c" value: "A" }
    output_map { key: "x" value: "c1" } output_map { key: "y" value: "b1" } output_map { key: "z" value: "a1" } },
  { model_name: "narrow" model_version: -1
    input_map { key: "a" value: "c1" } input_map { key: "b" value: "b1" } input_map { key: "c" value: "a1" }
    output_map { key: "y" value: "Z" } }
] }
"""


@pytest.fixture(params=["http", "grpc"])
def client(served, request):
    module = __import__(f"tritonclient.{request.param}", fromlist=["InferenceServerClient"])
    address = served.http if request.param == "http" else served.grpc
    options = {"concurrency": 16} if request.param == "http" else {}
    one = module.InferenceServerClient(address, **options)
    one.module = module
    yield one
    one.close()


def ask(client, model, feeds, outputs=None, **options):
    inputs = []
    for name, array in feeds.items():
        made = client.module.InferInput(name, list(array.shape), TYPES[array.dtype])
        made.set_data_from_numpy(array)
        inputs.append(made)
    wanted = outputs and [client.module.InferRequestedOutput(name) for name in outputs]
    return client.infer(model, inputs, outputs=wanted, **options)


def picked_feeds(batch, n, seed=0):
    draw = np.random.default_rng(seed)
    return {
        "x": draw.standard_normal((batch, 1), np.float32),
        "z": draw.standard_normal((batch, n), np.float32),
        "i": draw.integers(0, n, (batch, n)),
    }


def check_picked(answer, feeds):
    np.testing.assert_array_equal(answer.as_numpy("y"), -feeds["x"])
    np.testing.assert_array_equal(answer.as_numpy("w"), np.take_along_axis(feeds["z"], feeds["i"], 1))


@pytest.mark.parametrize("batch, n", [(1, 1), (1, 7), (3, 5), (64, 33)])
def test_a_batch(client, batch, n):
    feeds = picked_feeds(batch, n)
    check_picked(ask(client, "picked", feeds), feeds)


def test_only_what_is_asked_for(client):
    feeds = picked_feeds(2, 3)
    answer = ask(client, "picked", feeds, ["w"])
    assert answer.as_numpy("y") is None
    np.testing.assert_array_equal(answer.as_numpy("w"), np.take_along_axis(feeds["z"], feeds["i"], 1))


def test_many_clients_and_a_wrong_one_among_them(served, client):
    """Requests of different sizes run in one batch. An invalid index only fails the request that
    contains it."""
    before = statistics(served, "picked")

    def one(k):
        feeds = picked_feeds(1 + k % 5, 4 + k % 2, k)
        if k % 7 == 3:
            feeds["i"][0, 1] = 100 + k
            with pytest.raises(Exception, match=f"index {100 + k} is outside of a dim"):
                ask(client, "picked", feeds)
            return 0
        check_picked(ask(client, "picked", feeds), feeds)
        return 1

    # The HTTP client uses greenlets, so each thread needs its own. The gRPC client is thread-safe.
    if client.module.__name__.endswith("http"):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            right = sum(pool.map(lambda k: one_by_itself(served, k), range(200)))
    else:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            right = sum(pool.map(one, range(200)))
    after = statistics(served, "picked")
    told = after["inference_stats"]
    assert told["success"]["count"] - before["inference_stats"]["success"]["count"] == right == 171
    assert told["fail"]["count"] - before["inference_stats"]["fail"]["count"] == 29
    assert after["execution_count"] - before["execution_count"] < right  # some requests were batched


def one_by_itself(served, k):
    import tritonclient.http as http

    with http.InferenceServerClient(served.http) as client:
        client.module = http
        feeds = picked_feeds(1 + k % 5, 4 + k % 2, k)
        if k % 7 == 3:
            feeds["i"][0, 1] = 100 + k
            with pytest.raises(Exception, match=f"index {100 + k} is outside of a dim"):
                ask(client, "picked", feeds)
            return 0
        check_picked(ask(client, "picked", feeds), feeds)
        return 1


def statistics(served, model):
    return json.loads(get(f"http://{served.http}/v2/models/{model}/stats"))["model_stats"][0]


def test_strings_scalars_and_sizes_that_depend_on_data(client):
    texts = np.array(["grün", "", "a longer one, of more than sixteen bytes"], object)
    z = np.array([[0, 1, 0], [2, 0, 3], [0, 0, 0]], np.float32)
    answer = ask(client, "mixed", {"x": np.array([2.5], np.float32), "s": texts, "z": z})
    np.testing.assert_array_equal(answer.as_numpy("y"), [-2.5])
    assert [text.decode() for text in answer.as_numpy("t")] == list(texts)
    np.testing.assert_array_equal(answer.as_numpy("found"), np.nonzero(z))


def test_bfloat16_float16_and_bool(client):
    a, b = np.array([[1, -2, 3.5, 0]], ml_dtypes.bfloat16), np.array([[1, -2, 3.5, 0]], np.float16)
    c = np.array([[True, False, False, True]])
    answer = ask(client, "narrow", {"a": a, "b": b, "c": c})
    np.testing.assert_array_equal(answer.as_numpy("x"), -a)
    np.testing.assert_array_equal(answer.as_numpy("y"), -b)
    np.testing.assert_array_equal(answer.as_numpy("z"), ~c)


def test_a_member_of_an_ensemble(client):
    b = np.array([[1, -2, 3.5, 0]], np.float16)
    feeds = {"A": np.ones((1, 4), bool), "B": b, "C": np.ones((1, 4), ml_dtypes.bfloat16)}
    answer = ask(client, "twice", feeds)
    np.testing.assert_array_equal(answer.as_numpy("Z"), b)


def test_sequences_keep_their_state_apart(client):
    """The state of a sequence starts with zero rows and grows by one row for each request.
    Sequences of equal length share a batch."""
    draw = np.random.default_rng(1)
    base = 1000 * (1 + client.module.__name__.endswith("grpc"))
    rows = draw.standard_normal((3, 6, 3)).astype(np.float32)
    for step in range(6):
        for sequence in range(3):
            answer = ask(
                client,
                "summed",
                {"x": rows[sequence, step : step + 1]},
                sequence_id=base + sequence,
                sequence_start=step == 0,
                sequence_end=step == 5,
            )
            want = rows[sequence, : step + 1].sum(0, keepdims=True)
            np.testing.assert_allclose(answer.as_numpy("y"), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "change, why",
    [
        ({"z": np.zeros((2, 3), np.float64)}, "input 'z' data-type is 'FP64', but model 'picked' expects 'FP32'"),
        (
            {"z": np.zeros((2, 4), np.float32)},
            "input 'i' is [2, 3], but the model expects [batch, n], where 'n' is already 4",
        ),
        ({"i": np.full((2, 3), -4)}, "index -4 is outside of a dim of 3"),
        ({"z": None}, "missing required input(s) ['z']"),
    ],
)
def test_wrong_requests(client, change, why):
    feeds = {name: array for name, array in (picked_feeds(2, 3) | change).items() if array is not None}
    with pytest.raises(Exception, match=re.escape(why)):
        ask(client, "picked", feeds)
    feeds = picked_feeds(2, 3)
    check_picked(ask(client, "picked", feeds), feeds)


def test_health_and_metrics(served, client):
    assert client.is_server_ready() and client.is_model_ready("picked")
    ask(client, "picked", picked_feeds(3, 2))
    told = get(f"http://{served.metrics}/metrics")
    counted = re.search(r'nv_inference_count\{model="picked",version="1"\} (\d+)', told)
    assert counted and int(counted[1]) >= 3


def test_shared_memory_in_and_out(served, client):
    """The server reads inputs from the client's shared memory and writes outputs there, also at
    addresses that are not aligned to the element type."""
    from tritonclient.utils import shared_memory

    feeds = picked_feeds(2, 3, 5)
    for shift in (0, 1):
        name = f"region{shift}{client.module.__name__[-4:]}"
        region = shared_memory.create_shared_memory_region(name, "/" + name, 4096)
        try:
            shared_memory.set_shared_memory_region(region, [feeds["z"]], offset=shift)
            client.register_system_shared_memory(name, "/" + name, 4096)
            inputs = [client.module.InferInput(key, list(a.shape), TYPES[a.dtype]) for key, a in feeds.items()]
            for made, array in zip(inputs, feeds.values(), strict=True):
                if made.name() == "z":
                    made.set_shared_memory(name, array.nbytes, offset=shift)
                else:
                    made.set_data_from_numpy(array)
            wanted = client.module.InferRequestedOutput("w")
            wanted.set_shared_memory(name, 24, offset=1024 + shift)
            client.infer("picked", inputs, outputs=[wanted])
            found = shared_memory.get_contents_as_numpy(region, np.float32, [2, 3], offset=1024 + shift)
            np.testing.assert_array_equal(found, np.take_along_axis(feeds["z"], feeds["i"], 1))
            client.unregister_system_shared_memory(name)
        finally:
            shared_memory.destroy_shared_memory_region(region)


def test_a_model_is_loaded_and_unloaded_without_a_leak(served, client):
    sizes = []
    for _ in range(50):
        unload(client, "picked")
        client.load_model("picked")
        feeds = picked_feeds(4, 3)
        check_picked(ask(client, "picked", feeds), feeds)
        sizes.append(served.resident())
    assert max(sizes[40:]) - max(sizes[5:15]) < 4 << 20, sizes


@pytest.mark.parametrize(
    "change, why",
    [
        ({}, "the config does not list input 's', which the model requires"),
        ({"max_batch_size": 8}, "max_batch_size is 8, but the first dim of 'x' is not dynamic"),
        (
            {"output": [{"name": "y", "data_type": "TYPE_FP16", "dims": [1]}]},
            "'y' is TYPE_FP16 in the config but TYPE_FP32",
        ),
        ({"output": [{"name": "q", "data_type": "TYPE_FP32", "dims": [1]}]}, "the model has no output 'q'"),
        ({"output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [1, 1]}]}, "'y' has 0 dims in the model"),
        ({"parameters": {"threads": {"string_value": "two"}}}, "parameter 'threads' is 'two'"),
        (
            {"parameters": {"copy_weights": {"string_value": "yes"}}},
            "parameter 'copy_weights' is 'yes', must be true or false",
        ),
        ({"default_model_filename": "other.so"}, "other.so"),
    ],
)
def test_a_config_that_does_not_fit(served, client, change, why):
    config = {
        "backend": "hewn",
        "max_batch_size": 0,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [1]}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [1]}],
    }
    # A loaded model would remain loaded, and the server's count of live models would keep the
    # failed one until exit.
    unload(client, "mixed")
    with pytest.raises(Exception, match=re.escape(why)):
        client.load_model("mixed", config=json.dumps(config | change))
    client.load_model("mixed")
    assert client.is_model_ready("mixed")


def unload(client, model):
    client.unload_model(model)
    while client.is_model_ready(model):
        time.sleep(0.005)
