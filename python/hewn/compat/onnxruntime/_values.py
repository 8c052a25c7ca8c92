# SPDX-License-Identifier: Apache-2.0
"""OrtValue, and inputs and outputs that are bound to memory."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import _dlpack
from ._types import code_of, dtype_of, tensor_word, word_of


def expect_host(device_type: str) -> None:
    """Checks that `device` is the CPU.

    Raises RuntimeError for another device, and Exception for a device that onnxruntime does not
    know.
    """
    if device_type.lower() == "cpu":
        return
    if device_type.lower() in ("cuda", "cann", "dml", "webgpu", "gpu", "npu"):
        raise RuntimeError(f"Can't allocate memory on the device '{device_type}': only the CPU is supported.")
    raise Exception("Unsupported device type: " + device_type)


class OrtDevice:
    """The device of a tensor's memory, which is always the host."""

    @staticmethod
    def make(ort_device_name: str, device_id: int = 0, vendor_id: int = -1) -> OrtDevice:
        """Returns the device of this name; only "cpu" is supported."""
        expect_host(ort_device_name)
        return OrtDevice()

    def device_type(self) -> int:
        """Returns 0, onnxruntime's number of the CPU."""
        return 0

    def device_id(self) -> int:
        """Returns the number of the device, which is 0."""
        return 0


def _dtype(element_type: npt.DTypeLike) -> np.dtype:
    return dtype_of(element_type) if isinstance(element_type, int) else np.dtype(element_type)


class OrtValue:
    """A tensor, a list of tensors, a map, a list of maps, or an absent optional value.

    Shares the memory of the array that it was created from.
    """

    def __init__(self, value: np.ndarray | list[Any] | dict[str, Any] | None, code: int = 0, word: str = "") -> None:
        self._value = value
        self._word = word  # onnxruntime's name of the type of a map or list of maps
        self._code = code or (code_of(value.dtype) if isinstance(value, np.ndarray) else 0)

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, /, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """Creates a numeric tensor on the memory of an array, or on a copy if the array is not row-major."""
        expect_host(device_type)
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "OSU":
            raise RuntimeError("Creation of OrtValues is currently only supported from non-string numpy arrays")
        return cls(_dense(numpy_obj))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        """Creates a tensor that reinterprets the array as another type of the same size, given by ONNX's number."""
        return cls(_dense(data).view(dtype_of(onnx_element_type)), onnx_element_type)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: npt.DTypeLike,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Creates an uninitialized tensor. `element_type` is a NumPy type or ONNX's number."""
        expect_host(device_type)
        return cls(np.empty(tuple(shape), _dtype(element_type)))

    @classmethod
    def from_dlpack(cls, data: object, /) -> OrtValue:
        """Creates a tensor on the memory of another package's tensor."""
        return cls(_dense(_dlpack.array_of(data)))

    def _tensor(self) -> np.ndarray:
        if not isinstance(self._value, np.ndarray):
            raise RuntimeError("Only OrtValues that are Tensors/SparseTensors are currently supported")
        return self._value

    def numpy(self) -> np.ndarray:
        """Returns the tensor as an array on the same memory; types that NumPy lacks are those of ml_dtypes."""
        return self._tensor()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Returns the tensor as an array."""
        array = self._tensor()
        return np.array(array, dtype=dtype, copy=copy) if copy is not None else np.asarray(array, dtype=dtype)

    def __dlpack__(self, **options: Any) -> object:
        """Exports the tensor as DLPack."""
        return self._tensor().__dlpack__(**{k: v for k, v in options.items() if v is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns DLPack's number of the CPU."""
        return (1, 0)

    def shape(self) -> list[int]:
        """Returns the dims of the tensor."""
        return list(self._tensor().shape)

    def data_type(self) -> str:
        """Returns the type, for example "tensor(float)"."""
        if self._word:
            return self._word
        if isinstance(self._value, list):
            return f"seq({tensor_word(self._value[0].dtype) if self._value else 'tensor'})"
        return f"tensor({word_of(self._code)})"

    def element_type(self) -> int:
        """Returns ONNX's number of the element type."""
        self._tensor()
        return self._code

    def tensor_size_in_bytes(self) -> int:
        """Returns the size of the tensor in bytes."""
        return self._tensor().nbytes

    def data_ptr(self) -> int:
        """Returns the address of the first element."""
        return self._tensor().ctypes.data

    def device_name(self) -> str:
        """Returns "cpu"."""
        return "cpu"

    def has_value(self) -> bool:
        """Returns False for an absent optional value."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Returns True for a tensor."""
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        """Returns False: sparse tensors are not supported."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Returns True for a list of tensors."""
        return isinstance(self._value, list) and not self._word

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Copies the elements of an array of the same type and size into the tensor."""
        array = data._tensor() if isinstance(data, OrtValue) else data
        if not isinstance(array, np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        into = self._tensor()
        if array.size != into.size or array.dtype != into.dtype:
            raise RuntimeError("The input size of numpy arrays does not match the size of the OrtValue.")
        into.reshape(-1)[...] = array.reshape(-1)


def _dense(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(array.shape)


def _at(address: int, element_type: npt.DTypeLike, shape: Sequence[int]) -> np.ndarray:
    """Returns an array on the memory at an address, which the caller owns."""
    dtype, dims = _dtype(element_type), tuple(shape)
    memory: Any = (ctypes.c_char * max(math.prod(dims) * dtype.itemsize, 1)).from_address(address)
    return np.ndarray(dims, dtype, memory)


class IOBinding:
    """Bound inputs, and memory for outputs, for runs until they are bound again.

    Created by `InferenceSession.io_binding`.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._inputs: dict[str, object] = {}
        self._wanted: dict[str, np.ndarray | None] = {}
        self._results: list[OrtValue] = []

    def _expect(self, names: Sequence[str], name: str) -> None:
        if name not in names:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")

    def bind_cpu_input(self, name: str, arr_on_cpu: object) -> None:
        """Binds an array to an input. Later runs read the input from this array."""
        self._inputs[name] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: npt.DTypeLike,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Binds an input to the memory at an address, as a tensor of this type and shape."""
        expect_host(device_type)
        self._inputs[name] = _at(buffer_ptr, element_type, shape)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds a value to an input."""
        self._inputs[name] = ortvalue

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: npt.DTypeLike | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Requests an output from later runs.

        They write it to the memory at an address, with this type and shape, or allocate its memory
        if no address is given.
        """
        expect_host(device_type)
        if buffer_ptr is None:
            self._expect(self._session._output_names, name)
            self._wanted[name] = None
            return
        if element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        self._expect(self._session._output_names, name)
        self._wanted[name] = _at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Requests an output from later runs, which write it to the memory of an OrtValue."""
        self._expect(self._session._output_names, name)
        self._wanted[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Has no effect: bound inputs are in host memory, so there is no copy to wait for."""

    def synchronize_outputs(self) -> None:
        """Has no effect: bound outputs are in host memory, so there is no copy to wait for."""

    def get_outputs(self) -> list[OrtValue]:
        """Returns the outputs of the last run in the order of binding."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Returns the outputs of the last run as arrays, which are copies."""
        return [each._value.copy() if isinstance(each._value, np.ndarray) else each._value for each in self._results]

    def clear_binding_inputs(self) -> None:
        """Removes all bindings of inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Removes all bindings of outputs."""
        self._wanted.clear()
        self._results = []
