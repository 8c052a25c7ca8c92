# SPDX-License-Identifier: Apache-2.0
"""Measures the figures of a GPU that its target description in NVPTXTarget.cpp needs.

The figures are kernel launches, grid-wide barriers, memory bandwidth, latency, and FMA and MMA
operations per cycle.

    python3 tools/measure/gpu_rates.py

Needs CuPy, whose NVRTC compiles the kernels; does not use hewn. Prints JSON with the best of five
measurements of each figure, in the units of the target description: cycles of a streaming
multiprocessor at its clock under load (`megahertz`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import cupy

SOURCE = r"""
extern "C" __global__ void empty() {}

// Grid barriers: one thread per block increments a counter and waits until all blocks have done so.
extern "C" __global__ void meet(unsigned *count, int times) {
  for (int i = 1; i <= times; ++i) {
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
      unsigned seen;
      do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
      while (seen < i * gridDim.x);
    }
    __syncthreads();
  }
}

extern "C" __global__ void copy(const float4 *from, float4 *to, long long count) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x)
    to[i] = from[i];
}

extern "C" __global__ void read(const float4 *from, float *to, long long count, int times) {
  float sum = 0;
  for (int t = 0; t < times; ++t)
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
      float4 v = __ldcg(from + i);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 123.456f)
    *to = sum;
}

extern "C" __global__ void chase(const unsigned *next, unsigned *end, long long *took, int steps) {
  unsigned at = 0;
  long long begin = clock64();
  for (int i = 0; i < steps; ++i)
    at = __ldcg(next + at);
  *took = clock64() - begin;
  *end = at;
}

# define PRODUCTS(NAME, CODE)
# \
  extern "C" __global__ void NAME(float *to, long long *took, int times) {                                              \
    float c[4][4] = {};                                                                                                 \
    unsigned a[4] = {threadIdx.x, 1, 2, 3}, b[2] = {4, 5};                                                              \
    long long begin = clock64();                                                                                        \
    for (int i = 0; i < times; ++i)                                                                                     \
      _Pragma("unroll") for (int j = 0; j < 4; ++j) asm volatile(CODE " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" \
        : "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])                                                   \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                            \
    if (threadIdx.x == 0 && blockIdx.x == 0)                                                                            \
      *took = clock64() - begin;                                                                                        \
    to[threadIdx.x] = c[0][0] + c[1][1] + c[2][2] + c[3][3];                                                            \
  }
PRODUCTS(mma_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
PRODUCTS(mma_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
"""


def microseconds(run: Callable[[], object]) -> float:
    """Returns the time of the fastest of five runs in microseconds."""
    run()
    best = float("inf")
    for _ in range(5):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(begin, end) * 1e3)
    return best


def launch_time(kernel: Callable[..., object], blocks: int, threads: int, number: int = 500) -> float:
    """Returns the time per launch when a recorded CUDA graph runs `number` consecutive launches of the kernel."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        for _ in range(number):
            kernel((blocks,), (threads,), ())
        graph = stream.end_capture()

        def run() -> None:
            graph.launch(stream)
            stream.synchronize()

        run()
        best = float("inf")
        for _ in range(5):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            best = min(best, cupy.cuda.get_elapsed_time(begin, end) * 1e3)
    return best / number


def main() -> None:
    """Prints the figures of the GPU as JSON."""
    device = cupy.cuda.Device()
    processors = device.attributes["MultiProcessorCount"]
    code = cupy.RawModule(code=SOURCE, options=("--std=c++17",))
    get = code.get_function
    said = {"device": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), "processors": processors}

    took, times = cupy.zeros(1, cupy.int64), 4096
    sums = cupy.zeros(1024, cupy.float32)
    clock = microseconds(lambda: get("mma_tf32")((processors,), (512,), (sums, took, times)))
    said["megahertz"] = megahertz = round(int(took[0]) / clock)
    for name, products in (("tf32", 16 * 8 * 8), ("f16", 16 * 8 * 16)):
        get(f"mma_{name}")((processors,), (512,), (sums, took, times))
        said[f"mma_{name}_products_per_cycle"] = round(16 * 4 * times * products / int(took[0]))
    for blocks, threads in ((1, 32), (processors, 256), (4 * processors, 512)):
        each = launch_time(get("empty"), blocks, threads)
        said[f"launch_us_{blocks}x{threads}"] = round(each, 3)
        said[f"launch_cycles_{blocks}x{threads}"] = round(each * megahertz)
    for threads in (256, 1024):
        count = cupy.zeros(1, cupy.uint32)

        def meet(threads: int = threads, count: Any = count) -> None:
            count.fill(0)
            get("meet")((processors,), (threads,), (count, 1000))

        each = microseconds(meet) / 1000
        said[f"meeting_us_{threads}"], said[f"meeting_cycles_{threads}"] = round(each, 3), round(each * megahertz)
    large, other = cupy.zeros(1 << 28, cupy.float32), cupy.zeros(1 << 28, cupy.float32)
    blocks = processors * 8
    each = microseconds(lambda: get("copy")((blocks,), (256,), (large, other, (1 << 26))))
    said["copy_bytes_per_cycle"] = round((2 << 30) / (each * megahertz))
    each = microseconds(lambda: get("read")((blocks,), (256,), (large, sums, (1 << 26), 1)))
    said["read_bytes_per_cycle"] = round((1 << 30) / (each * megahertz))
    for megabytes in (4, 16, 32):
        count = megabytes << 16
        arguments = (large, sums, count, 64)
        each = microseconds(functools.partial(get("read"), (blocks,), (256,), arguments))
        said[f"l2_bytes_per_cycle_and_processor_{megabytes}MB"] = round(
            count * 16 * 64 / (each * megahertz) / processors, 1
        )
    for name, megabytes in (("l2", 8), ("memory", 1024)):
        count = megabytes << 18
        stride = 2654435761 % count | 1
        # The stride of the pointer chase is odd and the number of positions is a power of two, so
        # the chase visits all positions before it repeats one.
        chain = (cupy.arange(count, dtype=cupy.int64) + stride) % count
        chain, end = chain.astype(cupy.uint32), cupy.zeros(1, cupy.uint32)
        for _ in range(2):
            # Before timing, overwrite the caches, so that the pointer chase misses them.
            if name == "memory":
                get("copy")((blocks,), (256,), (large, other, (1 << 26)))
            get("chase")((1,), (1,), (chain, end, took, 20000))
        said[f"{name}_latency_cycles"] = round(int(took[0]) / 20000)
    print(json.dumps(said, indent=1))


if __name__ == "__main__":
    main()
