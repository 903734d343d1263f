# SPDX-License-Identifier: MIT
"""The inputs and outputs of a loaded network, as callers give them: checks and quantization."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.arguments import array as array_of
from armnn.arguments import closest, conversion, items, mapping, refused, shown, text
from armnn.backends.memory import overlaps_itself
from armnn.buffer import Buffer, Device, SupportsDLPack, device_of, overlap, unreachable
from armnn.errors import ArmnnError, InvalidArgumentError, MemoryImportError
from armnn.graph.aliases import first_names
from armnn.optimizer import OptimizedNetwork
from armnn.quantization import dequantize, quantize
from armnn.runtime.context import check_shapes
from armnn.runtime.steps import Targets
from armnn.tensor import Shape, TensorInfo, format_shape

_T = TypeVar("_T")

Side: TypeAlias = Literal["input", "output"]

InputShapes: TypeAlias = "Mapping[str, Sequence[int] | SupportsDLPack]"
"""The shape of each input, or an array, or an object with ``__dlpack__``: the data itself."""

Written: TypeAlias = "Mapping[str, Any]"
"""An array, or an object with ``__dlpack__``, by the name of the output that is written into it."""

_MOST_ELEMENTS = 2**59  # of 16 bytes each an address can tell apart


class ExpectedInputs:
    """The inputs of one network.

    Args:
        title: The network's name in errors.
        infos: The descriptions of the inputs, by name; dimensions may be unknown.
    """

    def __init__(self, title: str, infos: Mapping[str, TensorInfo]) -> None:
        self._title = title
        self._infos = infos
        self._expected = tuple(
            (name, info.data_type.numpy_dtype, info.shape) for name, info in infos.items()
        )

    def checked(self, inputs: Mapping[str, ArrayLike]) -> list[NDArray[Any]]:
        """Return inputs as arrays in the order of the network, buffers of devices as they are.

        Raises:
            InvalidArgumentError: One is missing, not known, or of a wrong type or shape.
        """
        arrays = []
        if len(inputs) != len(self._expected):
            self.check_names(inputs)
        for name, dtype, shape in self._expected:
            if name not in inputs:
                self.check_names(inputs)
            array: Any = inputs[name]
            if not isinstance(array, np.ndarray) and type(array) is not Buffer:
                array = _array_of_values(name, self._infos[name], array)
            if array.dtype is not dtype or not _fits(array.shape, shape):
                _check(name, self._infos[name], array)
            arrays.append(array)
        return arrays

    def check_mapping(self, inputs: object) -> None:
        """Check that inputs are given by name.

        Raises:
            InvalidArgumentError: They are not; the message shows how.
        """
        if not isinstance(inputs, Mapping):
            name = next(iter(self._infos), "x")
            expected = ", ".join(f"{each!r} ({info})" for each, info in self._infos.items())
            raise refused(
                "what is given as inputs",
                inputs,
                f"a mapping from their names, such as {{{name!r}: ...}}: {self._title} takes "
                f"{expected or 'none'}",
            )

    def check_names(self, names: Collection[str]) -> None:
        """Check that these are the names of all inputs.

        Raises:
            InvalidArgumentError: One is missing or not known.
        """
        self.check_known(names)
        missing = [name for name in self._infos if name not in names]
        if missing:
            raise InvalidArgumentError(self._message("nothing was given for input", missing))

    def check_known(self, names: Iterable[str]) -> None:
        """Check that the network has inputs of these names.

        Raises:
            InvalidArgumentError: It lacks one.
        """
        unknown = [name for name in names if name not in self._infos]
        if unknown:
            raise InvalidArgumentError(self._message("there is no input", unknown))

    def _message(self, what: str, names: Sequence[str]) -> str:
        expected = ", ".join(f"{name!r} ({info})" for name, info in self._infos.items())
        return f"{what} {', '.join(map(repr, names))}: {self._title} takes {expected}"


def checked_shape(given: object, name: str) -> tuple[int, ...]:
    """Return the shape that a caller gives an input.

    Raises:
        InvalidArgumentError: It is not a shape of an array.
    """
    info = TensorInfo(items(given, f"the shape of the input {name!r}", "a list of numbers"))
    if info.num_elements > _MOST_ELEMENTS:
        raise refused(f"the shape of the input {name!r}", given, "one that an array can have")
    return info.static_shape


def _fits(given: tuple[int, ...], expected: Shape | None) -> bool:
    """Return whether a shape has the known dimensions."""
    if expected is None or len(given) != len(expected):
        return False
    for size, dim in zip(given, expected, strict=True):
        if size != dim and isinstance(dim, int):
            return False
    return True


def _array_of_values(name: str, info: TensorInfo, values: object) -> NDArray[Any]:
    """Return numbers and lists of them as an array of a tensor's type."""
    dtype = info.data_type.numpy_dtype
    try:
        return array_of(values, dtype, f"the input {name!r}")
    except InvalidArgumentError as error:
        if not info.is_quantized or isinstance(error.__cause__, Exception):  # it makes no array
            raise
        given = np.asarray(values).dtype
        if given.kind != "f":
            raise
        raise wrong_type(f"the input {name!r}", given, info, dtype) from None


def _check(name: str, info: TensorInfo, array: NDArray[Any]) -> None:
    dtype = info.data_type.numpy_dtype
    if array.dtype != dtype:
        raise wrong_type(f"the input {name!r}", array.dtype, info, dtype)
    if not info.accepts(array.shape):
        raise InvalidArgumentError(
            f"the input {name!r} has shape {format_shape(array.shape)}: expected "
            f"{format_shape(info.shape)}"
        )


class ExpectedOutputs:
    """The outputs of one network.

    Args:
        title: The network's name in errors.
        infos: The descriptions of the outputs, by name; dimensions may be unknown.
        real: Which outputs are real values, float32, though the network quantizes them.
    """

    def __init__(self, title: str, infos: Mapping[str, TensorInfo], real: Sequence[str]) -> None:
        self._title = title
        self._infos = infos
        self._dtypes = {
            name: np.dtype(np.float32) if name in real else info.data_type.numpy_dtype
            for name, info in infos.items()
        }

    def check_mapping(self, outputs: object) -> None:
        """Check that arrays are given by name.

        Raises:
            InvalidArgumentError: They are not; the message shows how.
        """
        if not isinstance(outputs, Mapping):
            name = next(iter(self._infos), "y")
            raise refused(
                "what is given as outputs",
                outputs,
                f"a mapping from their names to arrays, such as {{{name!r}: ...}}",
            )

    def check_known(self, names: Iterable[str]) -> None:
        """Check that the network has outputs of these names.

        Raises:
            InvalidArgumentError: It lacks one.
        """
        for name in names:
            if name not in self._infos:
                meant = closest(str(name), self._infos)
                hint = f"; did you mean {meant!r}?" if meant else ""
                raise InvalidArgumentError(
                    f"there is no output {name!r}: {self._title} makes "
                    f"{', '.join(map(repr, self._infos)) or 'none'}{hint}"
                )

    def check(self, outputs: Targets) -> None:
        """Check arrays that outputs are written into.

        Raises:
            InvalidArgumentError: One is not known, no array, of a wrong type or shape, read-only,
                or shares memory with another or within itself.
        """
        for name, array in outputs.items():
            self._check(name, array)
        _check_separate([(f"the output {name!r}", array) for name, array in outputs.items()])

    def _check(self, name: str, array: object) -> None:
        self.check_known([name])
        info = self._infos[name]
        what = f"the array for the output {name!r}"
        checked = checked_array(array, what, info, self._dtypes[name])
        if not checked.flags.writeable:
            raise InvalidArgumentError(
                f"{what} is read-only: expected one that can be written to, such as a copy()"
            )
        if overlaps_itself(checked):
            raise InvalidArgumentError(
                f"{what} has strides of {list(checked.strides)} bytes, so that its elements share "
                "memory: expected an array without overlaps, such as a copy()"
            )


def checked_array(array: object, what: str, info: TensorInfo, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of a tensor's type and shape.

    Raises:
        InvalidArgumentError: It does not, or is not an array.
    """
    if not isinstance(array, np.ndarray):
        raise refused(what, array, f"an array of {dtype}{format_shape(info.shape)}")
    if array.dtype != dtype:
        raise wrong_type(what, array.dtype, info, dtype)
    if not info.accepts(array.shape):
        raise InvalidArgumentError(
            f"{what} has shape {format_shape(array.shape)}: expected {format_shape(info.shape)}"
        )
    return array


def wrong_type(
    what: str,
    given: np.dtype[Any],
    info: TensorInfo,
    expected: np.dtype[Any],
    source: object = None,
) -> InvalidArgumentError:
    """Return the error for an array of another type than a tensor's.

    ``source`` is the object of another library that it is the memory of, if it is one.
    """
    advice = conversion(given, expected, is_quantized=info.is_quantized, source=source)
    if info.is_quantized and given.kind not in "biu":
        advice = f"load the model with quantize=True to give and get real numbers, or {advice}"
    return InvalidArgumentError(
        f"{what} is {given}: expected {expected} ({info.data_type.arm_name}); {advice}"
    )


def _check_separate(arrays: Sequence[tuple[str, NDArray[Any] | Buffer]]) -> None:
    """Check that no two arrays, or no two buffers, share memory.

    Raises:
        InvalidArgumentError: Two do.
    """
    for index, (name, array) in enumerate(arrays):
        for other, earlier in arrays[:index]:
            if (
                overlap(array, earlier)
                if isinstance(array, Buffer) and isinstance(earlier, Buffer)
                else np.shares_memory(array, earlier)
            ):
                raise InvalidArgumentError(
                    f"the arrays for {other} and {name} share memory: expected an array of its "
                    "own for each"
                )


class RealValues:
    """Quantizes inputs and dequantizes outputs of a network.

    Tensors without a scale pass as they are.

    Attributes:
        inputs: The arrays that it quantizes.
    """

    def __init__(self, inputs: Mapping[str, TensorInfo], outputs: Mapping[str, TensorInfo]) -> None:
        self.inputs = _with_scales(inputs)
        self._outputs = _with_scales(outputs)

    def stored(self, inputs: Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
        """Return inputs as the network takes them.

        Raises:
            InvalidArgumentError: An input does not hold real numbers, or has a wrong shape.
        """
        return {name: self._stored(name, array) for name, array in inputs.items()}

    @property
    def output_names(self) -> tuple[str, ...]:
        """The outputs that it dequantizes."""
        return tuple(self._outputs)

    def restored(
        self, outputs: Mapping[str, NDArray[Any]], targets: Targets | None
    ) -> dict[str, NDArray[Any]]:
        """Return outputs, dequantized where the network quantizes them.

        Raises:
            InvalidArgumentError: An array of the caller's has another shape.
        """
        made = {
            name: dequantize(array, self._outputs[name]) if name in self._outputs else array
            for name, array in outputs.items()
        }
        if targets:
            check_shapes(targets, {name: array.shape for name, array in made.items()})
            for name, array in targets.items():
                np.copyto(array, made[name])
                made[name] = array
        return made

    def _stored(self, name: str, array: ArrayLike) -> ArrayLike:
        info = self.inputs.get(name)
        if info is None:
            return array
        values = array_of(array, np.dtype(np.float32), f"the input {name!r}")
        if values.dtype.kind not in "biufV":
            raise InvalidArgumentError(
                f"the input {name!r} holds {values.dtype}: expected real numbers, which are stored "
                f"as {info}"
            )
        if not info.accepts(values.shape):
            raise InvalidArgumentError(
                f"the input {name!r} has shape {format_shape(values.shape)}: expected "
                f"{format_shape(info.shape)}"
            )
        return quantize(values, info)


def _with_scales(infos: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
    return {name: info for name, info in infos.items() if info.is_quantized and info.scales}


def _detached(given: Any) -> Any:
    """Return a tensor without its gradient, on the same memory.

    PyTorch hands over no memory of a tensor that records gradients, as they would miss what is
    written. An input is only read.
    """
    return given.detach()


def _buffer_of(given: Any, copy: bool | None) -> Buffer:
    return given if type(given) is Buffer else Buffer.from_dlpack(given, copy=copy)


def _told(ask: Callable[[Any], _T], given: object, what: str) -> _T:
    """Return the result of a call of an object; errors name the input or output."""
    try:
        return ask(given)
    except ArmnnError as error:
        raise type(error)(f"{what}: {error}") from error
    except Exception as error:  # whatever an object says against it
        raise InvalidArgumentError(
            f"{what} is {shown(given)} that does not give its memory: {error}"
        ) from error


class Ports:
    """The inputs and outputs of one network, by name.

    Attributes:
        infos: The inputs by name.
        aliases: The second names.
        inputs: Checks the inputs of a run.
        real: Converts real values; None if the network takes what it stores.
    """

    def __init__(
        self,
        optimized: OptimizedNetwork,
        *,
        quantize: bool,
        beside: Callable[[str], Collection[str]] = lambda _: (),
        reached: Callable[[], Collection[tuple[int, int]]] = tuple,
        copies: dict[str, str] | None = None,
    ) -> None:
        """Record the inputs and outputs of the network.

        Args:
            optimized: The network.
            quantize: Whether callers give and get real values.
            beside: Returns the ids of the backends beside an input or output.
            reached: Returns the devices beside the host whose memory a backend imports.
            copies: Gets the reasons of copies, by input or output.
        """
        self.infos: Mapping[str, TensorInfo] = optimized.inputs
        self.aliases = optimized.aliases
        self.inputs = ExpectedInputs(optimized.title, self.infos)
        self.real = RealValues(self.infos, optimized.outputs) if quantize else None
        self._beside, self._reached = beside, reached
        self._copies = {} if copies is None else copies
        self._optimized = optimized
        self._value_inputs = optimized.value_inputs

    @cached_property
    def outputs(self) -> ExpectedOutputs:
        """Checks the arrays that outputs are written into."""
        names = () if self.real is None else self.real.output_names
        return ExpectedOutputs(self._optimized.title, self._optimized.outputs, names)

    def arrays(
        self, side: Side, given: Mapping[str, Any], *, takes_devices: bool = False
    ) -> Mapping[str, Any]:
        """Return arrays on the memory of objects with ``__dlpack__``, and other objects unchanged.

        Args:
            side: What is given.
            given: By first name.
            takes_devices: Whether memory that a backend imports, and the host does not reach, comes
                as a buffer.

        Raises:
            MemoryImportError: Neither the host nor a backend reaches an object's device.
            InvalidArgumentError: It does not give its memory, or is of a wrong type.
        """
        foreign = [
            name
            for name, each in given.items()
            if not isinstance(each, np.ndarray) and hasattr(each, "__dlpack__")
        ]
        if not foreign:  # as nearly always
            return given
        taken = dict(given)
        for name in foreign:
            what = f"the {side} {name!r}"
            source = given[name]
            if side == "input" and getattr(source, "requires_grad", False) is True:
                source = _told(_detached, source, what)
            # Asked before it hands its memory over, and believed after that only: a tensor that
            # calls itself one of the host may come with an address of a device.
            self._check_reached(
                name, what, _told(device_of, source, what), takes_devices=takes_devices
            )
            copy = False if side == "output" else None
            buffer = _told(partial(_buffer_of, copy=copy), source, what)
            self._check_reached(name, what, buffer.device, takes_devices=takes_devices)
            if side == "output" and buffer.is_copy:
                raise InvalidArgumentError(
                    f"{what}: its memory is a copy, so the output would be lost"
                )
            if side == "output" and buffer.is_readonly and not buffer.device.is_host:
                raise InvalidArgumentError(
                    f"{what}: its memory on {buffer.device} is read-only: expected memory that can "
                    "be written to"
                )
            if buffer.is_copy:
                self._copies[name] = f"{shown(given[name])} hands over a copy of its elements"
            taken[name] = buffer.numpy() if buffer.device.is_host else buffer
            if buffer.device.is_host and self.real is None:
                self._check_type(side, name, taken[name].dtype, source)
        return taken

    def _check_type(self, side: Side, name: str, given: np.dtype[Any], source: object) -> None:
        """Check the type of an object of another library, whose conversion has another name.

        Raises:
            InvalidArgumentError: The tensor is of another one.
        """
        infos = self.infos if side == "input" else self._optimized.outputs
        if name in infos and given != infos[name].data_type.numpy_dtype:
            expected = infos[name].data_type.numpy_dtype
            raise wrong_type(f"the {side} {name!r}", given, infos[name], expected, source)

    def _check_reached(
        self, name: str, what: str, device: Device | None, *, takes_devices: bool
    ) -> None:
        """Check that a call can use memory of a device.

        Raises:
            MemoryImportError: It cannot.
        """
        if device is None or device.is_host:
            return
        if device not in self._reached():
            raise MemoryImportError(unreachable(what, device, self._beside(name)))
        if not takes_devices:
            raise MemoryImportError(
                f"{what} is on {device}, and this call copies from and to memory of the host: "
                "bind() it, or import it, and it is used where it is"
            )

    def targets(self, outputs: Written, *, takes_devices: bool = False) -> Targets:
        """Return arrays that outputs are written into, by first names.

        Args:
            outputs: By any of their names.
            takes_devices: See :meth:`arrays`; the types and shapes of buffers are not checked.

        Raises:
            InvalidArgumentError: One is not known, or does not fit.
            MemoryImportError: One is on a device that the host does not reach.
        """
        self.outputs.check_mapping(outputs)
        named = first_names(outputs, self.aliases.outputs)
        given = self.arrays("output", named, takes_devices=takes_devices)
        self.outputs.check({n: each for n, each in given.items() if type(each) is not Buffer})
        self.outputs.check_known(given)
        _check_separate(
            [(f"the output {n!r}", each) for n, each in given.items() if type(each) is Buffer]
        )
        return given

    def imported_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the imported memory of inputs, by first names.

        Raises:
            InvalidArgumentError: An input is not known.
        """
        self.inputs.check_mapping(inputs)
        given = first_names(inputs, self.aliases.inputs)
        self.inputs.check_known(given)
        return dict(self.arrays("input", given, takes_devices=True))

    def imported_outputs(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the imported memory of outputs, by first names.

        Raises:
            InvalidArgumentError: An output is not known, or an array does not fit.
        """
        self.outputs.check_mapping(outputs)
        given = first_names(outputs, self.aliases.outputs)
        self.outputs.check_known(given)
        taken = dict(self.arrays("output", given, takes_devices=True))
        self.outputs.check({n: each for n, each in taken.items() if isinstance(each, np.ndarray)})
        return taken

    def checked(
        self, inputs: Mapping[str, ArrayLike], beside: Collection[str]
    ) -> dict[str, NDArray[Any]]:
        """Return inputs as arrays of the types that a caller sees.

        Args:
            inputs: By first names.
            beside: Further inputs, which are not the caller's to give.

        Raises:
            InvalidArgumentError: One is missing, not known, or of a wrong type or shape.
        """
        self.inputs.check_names([*inputs, *beside])
        made = {}
        for name, given in inputs.items():
            info = self.infos[name]
            if self.real is not None and name in self.real.inputs:
                array = np.asarray(given, np.float32)
                self.real.stored({name: array})  # checks the shape and the kind of numbers
            else:
                array = (
                    given if isinstance(given, np.ndarray) else _array_of_values(name, info, given)
                )
                _check(name, info, array)
            made[name] = array
        return made

    def states(self, states: Mapping[str, str]) -> dict[str, str]:
        """Return which output follows which input, by first names.

        Raises:
            InvalidArgumentError: They are not names.
        """
        expected = "a mapping from names of inputs to those of outputs"
        given = first_names(mapping(states, "states", expected), self.aliases.inputs)
        made = {name: text(out, f"the output of the state {name!r}") for name, out in given.items()}
        return {name: self.aliases.outputs.get(out, out) for name, out in made.items()}

    def examples(self, shapes: InputShapes) -> list[NDArray[Any]]:
        """Return an array of the given shape per input.

        Raises:
            InvalidArgumentError: A shape or an array is missing or does not fit.
        """
        self.inputs.check_mapping(shapes)
        given = first_names(shapes, self.aliases.inputs)
        self.inputs.check_known(given)
        taken = self.arrays("input", given)
        arrays = {name: self._example(name, taken.get(name)) for name in self.infos}
        return self.inputs.checked(arrays)

    def _example(self, name: str, given: Sequence[int] | NDArray[Any] | None) -> NDArray[Any]:
        """Return an input's data, or zeros of its shape."""
        info = self.infos[name]
        if isinstance(given, np.ndarray):
            return given
        if name in self._value_inputs:
            raise InvalidArgumentError(
                f"the data of the input {name!r} ({info}) decides how the network is prepared: "
                "expected an array in the place of its shape"
            )
        if given is None and not info.is_static:
            raise InvalidArgumentError(
                f"the input {name!r} needs a shape: its own {format_shape(info.shape)} is not "
                "known in full"
            )
        shape = info.static_shape if given is None else checked_shape(given, name)
        return np.broadcast_to(np.zeros((), info.data_type.numpy_dtype), shape)
