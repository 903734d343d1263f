# SPDX-License-Identifier: MIT
"""``Interpreter`` and ``SignatureRunner``: a TensorFlow Lite model with LiteRT's methods."""

from __future__ import annotations

import json
import logging
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn import CreationOptions, OptimizedNetwork, OptimizerOptions, parse
from armnn.backends import OptionValue
from armnn.errors import InvalidArgumentError, ModelFileNotFoundError
from armnn.graph import Network
from armnn.graph.dot import to_dot
from armnn.profiling import Recorder, arm_nn_profile
from armnn.runtime import LoadedNetwork, Runtime, default_runtime
from armnn.tensor import TensorInfo
from armnn_compat.litert.delegates import Delegate, combined, load_delegate
from armnn_compat.litert.model import Model, Tensor
from armnn_compat.threads import taken_options


class _Preparation:
    """Prepares and loads networks with the options of a delegate.

    Attributes:
        runtime: The runtime: its own one if the delegate names a directory of backends.
        profiler: Gets the events of runs, None if none are recorded.

    Args:
        owner: When it is gone, its profile is printed, and a runtime of its own closed.
        delegate: The delegate that was asked for.
        threads: How many threads a layer may use unless the delegate says so; 0 for all.
    """

    def __init__(self, owner: object, delegate: Delegate, threads: int) -> None:
        self._delegate = delegate
        wanted: dict[str, OptionValue] = {}
        chosen = threads if delegate.threads is None else delegate.threads
        if chosen > 0:
            wanted["NumberOfThreads"] = chosen
        if delegate.fast_math is not None:
            wanted["FastMathEnabled"] = delegate.fast_math
        self._wanted = wanted
        if delegate.log_level:
            logging.getLogger("armnn").setLevel(delegate.log_level)
        self.profiler = Recorder() if delegate.profiles else None
        self._last: list[Network] = []
        if self.profiler is not None:
            weakref.finalize(
                owner, _print_profile, self.profiler, self._last, events=delegate.profiles_events
            )
        self.runtime = default_runtime()
        if delegate.dynamic_backends_path:
            options = CreationOptions(dynamic_backends_path=delegate.dynamic_backends_path)
            self.runtime = Runtime(options)
            weakref.finalize(owner, self.runtime.close).atexit = False

    def optimize(self, network: Network) -> OptimizedNetwork:
        """Return a network prepared for the delegate's backends.

        Raises:
            BackendError: A backend that the delegate names cannot be used.
            OSError: The drawing cannot be written.
        """
        ids = list(self._delegate.backends) or None
        backends = self.runtime.registry.find_usable(ids)
        optimized = self.runtime.optimize(
            network,
            ids,
            options=OptimizerOptions(**self._delegate.optimizer),
            backend_options=taken_options(backends, self._wanted),
        )
        self._last[:] = [optimized.network]
        if self._delegate.dot_file:
            Path(self._delegate.dot_file).write_text(to_dot(optimized.network), encoding="utf-8")
        return optimized

    def load(self, optimized: OptimizedNetwork) -> LoadedNetwork:
        """Return a loaded network."""
        return self.runtime.load_network(optimized)


def _print_profile(recorder: Recorder, networks: list[Network], *, events: bool) -> None:
    """Print the profile, as Arm NN's delegate does."""
    recorded = recorder.events if events else ()
    profile = arm_nn_profile(recorded, networks[0] if networks else None)
    sys.stdout.write(json.dumps(profile, indent="\t") + "\n")


class SignatureRunner:
    """Runs a signature; ``Interpreter.get_signature_runner`` makes it.

    Args:
        interpreter: The interpreter of the model.
        signature_key: The signature.

    Raises:
        InvalidArgumentError: The model has no such signature, or it is one of another subgraph
            than the main one.
    """

    def __init__(self, interpreter: Interpreter, signature_key: str) -> None:
        signatures = interpreter.model.signatures
        if signature_key not in signatures:
            raise InvalidArgumentError(
                f'Invalid signature_key provided: "{signature_key}"; the model has '
                f"{list(signatures)}"
            )
        self._signature = signatures[signature_key]
        if self._signature.subgraph != 0:
            raise InvalidArgumentError(
                f"the signature {signature_key!r} is one of subgraph {self._signature.subgraph}: "
                "only those of the main subgraph, 0, can be run"
            )
        self._interpreter = interpreter

    def __call__(self, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Run the model.

        Args:
            inputs: An array for each input of the signature, of any size that the model takes.

        Returns:
            The outputs of the signature by name.

        Raises:
            InvalidArgumentError: The inputs are not those of the signature.
        """
        known = self._signature.inputs
        if len(inputs) != len(known):
            raise InvalidArgumentError(
                "Invalid number of inputs provided for running a SignatureDef, expected "
                f"{len(known)} ({', '.join(known)}) vs provided {len(inputs)}"
            )
        for name in inputs:
            if name not in known:
                raise InvalidArgumentError(
                    f"Invalid Input name ({name}) for SignatureDef; it has {', '.join(known)}"
                )
        for name, value in inputs.items():
            self._interpreter.resize_tensor_input(known[name], np.shape(value))
        self._interpreter.allocate_tensors()
        for name, value in inputs.items():
            self._interpreter.set_tensor(known[name], value)
        self._interpreter.invoke()
        outputs = self._signature.outputs
        return {name: self._interpreter.get_tensor(index) for name, index in outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """Return the details of each input, by name."""
        return {name: self._details(index) for name, index in self._signature.inputs.items()}

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """Return the details of each output, by name."""
        return {name: self._details(index) for name, index in self._signature.outputs.items()}

    def _details(self, index: int) -> dict[str, Any]:
        return self._interpreter.get_tensor_details()[index]


_Item = TypeVar("_Item")


class OpResolverType(Enum):
    """Which kernels LiteRT would use; without effect."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


class Interpreter:
    """A loaded model and its tensors.

    Args:
        model_path: The file.
        model_content: Or what is in it.
        experimental_delegates: The delegates of ``load_delegate``.
        num_threads: The threads of a layer, for the backends that have such an option.
        experimental_op_resolver_type: Has no effect.
        experimental_preserve_all_tensors: Must be false.
        options: Other arguments of LiteRT, which have no effect.

    Raises:
        ValueError: There is no such file, it is no model or one that cannot be run, or an argument
            is wrong.
        BackendError: A backend that a delegate names cannot be used.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        model_content: bytes | None = None,
        experimental_delegates: Sequence[Delegate] | None = None,
        num_threads: int | None = None,
        experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO,
        experimental_preserve_all_tensors: bool = False,
        **options: object,
    ) -> None:
        del experimental_op_resolver_type, options
        if experimental_preserve_all_tensors:
            raise InvalidArgumentError(
                "experimental_preserve_all_tensors is set: intermediate tensors are not kept, as "
                "layers are fused and share memory"
            )
        delegate = combined(_checked_delegates(experimental_delegates or ()))
        self._preparation = _Preparation(self, delegate, _checked_threads(num_threads))
        network, content = _read(model_path, model_content)
        self.model = Model(content)
        self._takes = self._free_inputs()
        self._shapes = {tensor.index: tensor.shape for tensor in self.model.tensors}
        self._arrays: dict[int, NDArray[Any]] = {}
        self._is_allocated = False
        self._may_run_again = True
        self._first_values = self.model.first_values()
        self._states: dict[str, NDArray[Any]] = {}
        self._load(network)

    @property
    def experimental_compress_quantization_zero_points(self) -> bool:
        """False: each scale has a zero point of its own."""
        return False

    # -- tensors --------------------------------------------------------------------------------

    def get_input_details(self) -> list[dict[str, Any]]:
        """Return the details of each input."""
        return [self._details(index) for index in self.model.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Return the details of each output."""
        return [self._details(index) for index in self.model.outputs]

    def get_tensor_details(self, subgraph_index: int = 0) -> list[dict[str, Any]]:
        """Return the details of the main subgraph's tensors.

        Raises:
            InvalidArgumentError: Another subgraph is asked for.
        """
        if subgraph_index != 0:
            raise InvalidArgumentError(
                f"subgraph_index is {subgraph_index}: only the tensors of the main subgraph, 0, "
                "are known"
            )
        return [self._details(tensor.index) for tensor in self.model.tensors]

    def num_subgraphs(self) -> int:
        """Return how many subgraphs the file has."""
        return self.model.subgraphs

    def resize_tensor_input(
        self, input_index: int, tensor_size: Sequence[int], strict: bool = False
    ) -> None:
        """Give an input other dimensions; ``allocate_tensors`` must follow.

        Args:
            input_index: The index of its tensor.
            tensor_size: As many dimensions as it has.
            strict: Whether only dimensions may change that the model leaves open.

        Raises:
            RuntimeError: It is not an input, or it cannot have these dimensions.
        """
        if input_index not in self._takes:
            raise RuntimeError(
                f"the tensor {input_index} cannot be resized: the inputs are {list(self._takes)}"
            )
        shape = tuple(int(size) for size in tensor_size)
        now = self._shapes[input_index]
        declared = self.model.tensors[input_index].signature or now
        fits = len(shape) == len(declared) and all(size >= 0 for size in shape)
        if fits and strict:
            fits = all(dim in (-1, size) for dim, size in zip(declared, shape, strict=True))
        if not fits:
            raise RuntimeError(
                f"the input {input_index} cannot be resized to {list(shape)}: its dimensions are "
                f"{list(declared)}" + (", of which those may change that are -1" * strict)
            )
        if shape != now:
            self._shapes[input_index] = shape
            self._arrays.clear()
            self._is_allocated = False

    def allocate_tensors(self) -> None:
        """Prepare the model for its inputs' present dimensions.

        Raises:
            ValueError: It cannot be run with them.
        """
        if self._is_allocated:
            return
        shapes = {index: self._shapes[index] for index in self._takes}
        infos = self._optimized.inputs.values()
        if not all(map(TensorInfo.accepts, infos, shapes.values())):
            self._load(parse(self.model.resized(shapes), suffix="tflite"))
        self._arrays = {index: self._zeros(index) for index in self._takes}
        for index, info in self._inferred_outputs(shapes.values()):
            if info.is_static:
                self._shapes[index] = info.static_shape
                self._arrays[index] = self._zeros(index)
        self._is_allocated = self._may_run_again = True

    def set_tensor(self, tensor_index: int, value: ArrayLike) -> None:
        """Copy an array into an input.

        Raises:
            InvalidArgumentError: It is not an input, or of another type or shape than the array.
        """
        tensor = self._input(tensor_index)
        if not self._is_allocated:
            raise InvalidArgumentError(
                "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            )
        array = np.asarray(value)
        if array.dtype != tensor.dtype:
            raise InvalidArgumentError(
                f"Cannot set tensor: Got value of type {array.dtype} but expected type "
                f"{np.dtype(tensor.dtype)} for input {tensor_index}, name: {tensor.name}"
            )
        target = self._arrays[tensor_index]
        if array.shape != target.shape:
            raise InvalidArgumentError(
                f"Cannot set tensor: Dimension mismatch. Got {list(array.shape)} but expected "
                f"{list(target.shape)} for input {tensor_index}, name: {tensor.name}"
            )
        target[...] = array

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> NDArray[Any]:
        """Return a copy of an input, output or constant.

        Raises:
            InvalidArgumentError: It is neither, or the model was not run yet.
        """
        del subgraph_index
        return self._array(tensor_index).copy()

    def tensor(self, tensor_index: int) -> Callable[[], NDArray[Any]]:
        """Return a function that gives an input or output itself."""
        return lambda: self._array(tensor_index)

    # -- running --------------------------------------------------------------------------------

    def invoke(self) -> None:
        """Run the model.

        Raises:
            RuntimeError: ``allocate_tensors`` was not called, or the model has tensors that are
                variables, whose values would be lost.
        """
        if not self._is_allocated:
            raise RuntimeError("Invoke called on model that is not ready: call allocate_tensors()")
        if not self._may_run_again:
            raise RuntimeError(
                "the model has tensors that are variables, whose values are not kept from one run "
                "to the next: call reset_all_variables() before each further run"
            )
        arrays = [self._arrays[index] for index in self._takes]
        results = self._network.run(
            self._by_name(arrays) | self._states, profiler=self._preparation.profiler
        )
        for index, result in zip(self.model.outputs, results.values(), strict=False):
            self._shapes[index] = result.shape
            self._arrays[index] = result
        self._states = {name: results[name] for name in self._states}
        self._may_run_again = not any(tensor.is_variable for tensor in self.model.tensors)

    def reset_all_variables(self) -> None:
        """Set variable tensors to zero; resource variables stay."""
        self._may_run_again = True

    # -- signatures -----------------------------------------------------------------------------

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Return the names of each signature's inputs and outputs."""
        return {
            key: {"inputs": list(signature.inputs), "outputs": list(signature.outputs)}
            for key, signature in self.model.signatures.items()
        }

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """Return a function that runs a signature.

        Args:
            signature_key: Which one; may be left out if there is only one.

        Raises:
            InvalidArgumentError: There is no such signature, or which one is not given.
        """
        if signature_key is None:
            if len(self.model.signatures) != 1:
                raise InvalidArgumentError(
                    "SignatureDef signature_key is None and model has "
                    f"{len(self.model.signatures)} Signatures. None is only allowed when the model "
                    "has 1 SignatureDef"
                )
            (signature_key,) = self.model.signatures
        return SignatureRunner(self, signature_key)

    # -- inside ---------------------------------------------------------------------------------

    def _free_inputs(self) -> tuple[int, ...]:
        """Return the inputs without data in the file."""
        return tuple(i for i in dict.fromkeys(self.model.inputs) if self.model.constant(i) is None)

    def _load(self, network: Network) -> None:
        optimized = self._preparation.optimize(network)
        network.clear()  # the runtime has a copy
        vars(self).pop("_network", None)  # first: its memory goes with it
        self._optimized = optimized
        self._network = self._preparation.load(optimized)
        for name in list(self._optimized.inputs)[len(self._takes) :]:
            self._states.setdefault(name, self._first_value(name))
        if self._preparation.profiler is None:  # whose profile describes the layers
            # Layers refer to each other: without this their programs wait for the collector.
            weakref.finalize(self, optimized.clear).atexit = False

    def _inferred_outputs(
        self, shapes: Iterable[tuple[int, ...]]
    ) -> Iterator[tuple[int, TensorInfo]]:
        """Yield the outputs' infos for shapes of the inputs."""
        optimized = self._optimized
        if optimized.value_inputs:
            return  # the values that decide are not known yet
        states = {name: state.shape for name, state in self._states.items()}
        network = optimized.specialize(self._by_name(shapes) | states, {}).network
        found = {layer.name: layer.input_infos[0] for layer in network.outputs}
        for name, index in zip(optimized.outputs, self.model.outputs, strict=False):
            info = found.get(name)
            if info is not None:
                yield index, info

    def _by_name(self, items: Iterable[_Item]) -> dict[str, _Item]:
        """Return the data of inputs by their names in the network."""
        return dict(zip(self._optimized.inputs, items, strict=False))

    def _first_value(self, name: str) -> NDArray[Any]:
        info = self._optimized.inputs[name]
        zeros = np.zeros(info.static_shape, info.data_type.numpy_dtype)
        return self._first_values.get(name, zeros)

    def _tensor(self, index: int) -> Tensor:
        if not 0 <= index < len(self.model.tensors):
            raise InvalidArgumentError(
                f"Invalid tensor index {index} exceeds max tensor index {len(self.model.tensors)}"
            )
        return self.model.tensors[index]

    def _input(self, index: int) -> Tensor:
        tensor = self._tensor(index)
        if index not in self._takes:
            raise InvalidArgumentError(
                f"the tensor {index} ({tensor.name!r}) is not an input of the model: the inputs "
                f"are {list(self._takes)}"
            )
        return tensor

    def _details(self, index: int) -> dict[str, Any]:
        return self._tensor(index).details(self._shapes[index])

    def _zeros(self, index: int) -> NDArray[Any]:
        return np.zeros(self._shapes[index], self._tensor(index).dtype)

    def _array(self, index: int) -> NDArray[Any]:
        tensor = self._tensor(index)
        if index in self._arrays:
            return self._arrays[index]
        data = self.model.constant(index)
        if data is None:
            raise InvalidArgumentError(
                f"Tensor data is null for the tensor {index} ({tensor.name!r}). Run "
                "allocate_tensors() first, and invoke() for outputs; intermediate tensors are not "
                "kept"
            )
        return data


class InterpreterWithCustomOps(Interpreter):
    """Refuses custom operators, which are made for another run time.

    Raises:
        InvalidArgumentError: There are any.
    """

    def __init__(self, custom_op_registerers: Sequence[object] = (), **arguments: Any) -> None:
        if custom_op_registerers:
            raise InvalidArgumentError(
                f"custom operators are given as {list(custom_op_registerers)}: they are made for "
                "another run time, and a backend can bring operators instead"
            )
        super().__init__(**arguments)


def _checked_delegates(delegates: Sequence[Delegate]) -> Sequence[Delegate]:
    for delegate in delegates:
        if not isinstance(delegate, Delegate):
            raise InvalidArgumentError(
                f"experimental_delegates has {delegate!r}, which is made for another run time: "
                "expected a delegate of this module's load_delegate()"
            )
    return delegates


def _checked_threads(threads: int | None) -> int:
    if threads is None:
        return 0
    if not isinstance(threads, int):
        raise InvalidArgumentError(f"type of num_threads should be int: got {threads!r}")
    if threads < 1:
        raise InvalidArgumentError(f"num_threads should >= 1: got {threads}")
    return threads


def _read(path: str | os.PathLike[str] | None, content: bytes | None) -> tuple[Network, bytes]:
    if path and content:
        raise InvalidArgumentError("Can't both provide `model_path` and `model_content`")
    if content:
        data = bytes(content)
        return parse(data, suffix="tflite"), data
    if not path:
        raise InvalidArgumentError("`model_path` or `model_content` must be specified.")
    try:
        network = parse(path, suffix="tflite")
    except ModelFileNotFoundError as error:
        raise InvalidArgumentError(f"Could not open {os.fspath(path)!r}.") from error
    with open(path, "rb") as file:
        return network, file.read()


__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "OpResolverType",
    "SignatureRunner",
    "load_delegate",
]
