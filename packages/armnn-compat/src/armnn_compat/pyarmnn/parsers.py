# SPDX-License-Identifier: MIT
"""The parsers: ITfLiteParser, IOnnxParser and IDeserializer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import armnn
from armnn_compat.pyarmnn.errors import arm_nn_errors
from armnn_compat.pyarmnn.network import Built, INetwork
from armnn_compat.pyarmnn.tensors import BindingInfo, TensorInfo
from armnn_parser_tflite.description import Description


class _Parser:
    """A parser and the network that it made last."""

    _suffix: str
    _not_there: str
    """The reason of the message about a file that is not there."""

    def __init__(self) -> None:
        self._built: Built | None = None

    def _parsed(self, path: str, *, infers_shapes: bool = False) -> INetwork:
        if not Path(path).is_file():
            raise RuntimeError(f"{self._not_there} {path}: there is no such file")
        with arm_nn_errors():
            network = self._read(path)
        self._built = Built.of(network, infers_shapes=infers_shapes)
        return INetwork.of(self._built)

    def _read(self, path: str) -> armnn.Network:
        return armnn.parse(path, suffix=self._suffix)

    def _network(self) -> armnn.Network:
        if self._built is None:
            raise RuntimeError("no network was parsed: call CreateNetworkFromBinaryFile() first")
        return self._built.network

    def _input(self, name: str) -> BindingInfo:
        network = self._network()
        infos = {layer.name: layer.output.info for layer in network.inputs}
        return _binding(infos, network.aliases.inputs, name, "input")

    def _output(self, name: str) -> BindingInfo:
        network = self._network()
        values = {layer.name: layer.inputs[0] for layer in network.outputs}
        infos = {each: value.info for each, value in values.items() if value is not None}
        return _binding(infos, network.aliases.outputs, name, "output")


@dataclass
class TfLiteParserOptions:
    """Options of ITfLiteParser.

    Attributes:
        m_StandInLayerForUnsupported: Must be false: operators without a layer are errors.
        m_InferAndValidate: Whether dimensions may be open.
    """

    m_StandInLayerForUnsupported: bool = False
    m_InferAndValidate: bool = False


class ITfLiteParser(_Parser):
    """Reads TensorFlow Lite files.

    Args:
        options: The defaults if left out.
    """

    _suffix, _not_there = "tflite", "Cannot find the file"

    def __init__(self, options: TfLiteParserOptions | None = None) -> None:
        super().__init__()
        self._options = TfLiteParserOptions() if options is None else options
        self._output_shapes: list[tuple[int, ...]] = []

    def _read(self, path: str) -> armnn.Network:
        """Return the network with the file's shapes.

        Like Arm NN it takes 1 for dimensions that the signature of a shape leaves open.
        """
        file = Description(Path(path).read_bytes())
        tensors = file.main.tensors
        self._output_shapes = [tensors[index].shape for index in file.main.outputs]
        shapes = {index: tensors[index].shape for index in file.main.inputs}
        return armnn.parse(file.resized(shapes), suffix=self._suffix)

    def _output(self, name: str) -> BindingInfo:
        """Return the binding of an output, with the file's shape."""
        network = self._network()
        infos = {}
        for layer, shape in zip(network.outputs, self._output_shapes, strict=True):
            (info,) = layer.input_infos
            assert info is not None  # an output reads a value
            infos[layer.name] = info if info.is_static else _with_shape(info, shape)
        return _binding(infos, network.aliases.outputs, name, "output")

    def CreateNetworkFromBinaryFile(self, graphFile: str) -> INetwork:
        """Return the network of a file.

        Raises:
            RuntimeError: There is no such file, it cannot be read, or m_StandInLayerForUnsupported
                is set.
        """
        if self._options.m_StandInLayerForUnsupported:
            raise RuntimeError(
                "m_StandInLayerForUnsupported is True: stand-ins cannot be run, so the parser "
                "names the operators instead that it does not support; set it to False"
            )
        return self._parsed(graphFile, infers_shapes=self._options.m_InferAndValidate)

    def GetSubgraphCount(self) -> int:
        """Return 1: only the main subgraph is read."""
        self._network()
        return 1

    def GetSubgraphInputTensorNames(self, subgraphId: int) -> tuple[str, ...]:
        """Return the names of the tensors that are inputs."""
        network = self._main(subgraphId)
        return _tensor_names([layer.name for layer in network.inputs], network.aliases.inputs)

    def GetSubgraphOutputTensorNames(self, subgraphId: int) -> tuple[str, ...]:
        """Return the names of the tensors that are outputs."""
        network = self._main(subgraphId)
        return _tensor_names([layer.name for layer in network.outputs], network.aliases.outputs)

    def GetNetworkInputBindingInfo(self, subgraphId: int, name: str) -> BindingInfo:
        """Return id and description of an input.

        Raises:
            RuntimeError: Nothing has that name.
        """
        self._main(subgraphId)
        return self._input(name)

    def GetNetworkOutputBindingInfo(self, subgraphId: int, name: str) -> BindingInfo:
        """Return id and description of an output.

        Raises:
            RuntimeError: Nothing has that name.
        """
        self._main(subgraphId)
        return self._output(name)

    def _main(self, subgraph: int) -> armnn.Network:
        if subgraph != 0:
            raise RuntimeError(f"there is no subgraph {subgraph}: the parser reads subgraph 0")
        return self._network()


class IOnnxParser(_Parser):
    """Reads ONNX files."""

    _suffix, _not_there = "onnx", "Invalid (null) filename or no file:"

    def CreateNetworkFromBinaryFile(self, graphFile: str) -> INetwork:
        """Return the network of a file.

        Raises:
            RuntimeError: There is no such file, or it cannot be read.
        """
        return self._parsed(graphFile)

    def GetNetworkInputBindingInfo(self, name: str) -> BindingInfo:
        """Return id and description of an input.

        Raises:
            RuntimeError: Nothing has that name.
        """
        return self._input(name)

    def GetNetworkOutputBindingInfo(self, name: str) -> BindingInfo:
        """Return id and description of an output.

        Raises:
            RuntimeError: Nothing has that name.
        """
        return self._output(name)


class IDeserializer(_Parser):
    """Reads Arm NN's own files, ``.armnn``."""

    _suffix, _not_there = "armnn", "Cannot read the file"

    def CreateNetworkFromBinary(self, graphFile: str) -> INetwork:
        """Return the network of a file.

        Raises:
            RuntimeError: There is no such file, or it cannot be read.
        """
        return self._parsed(graphFile)

    def GetNetworkInputBindingInfo(self, layerId: int, name: str) -> BindingInfo:
        """Return id and description of an input.

        ``layerId`` has no effect.

        Raises:
            RuntimeError: Nothing has that name.
        """
        del layerId
        return self._input(name)

    def GetNetworkOutputBindingInfo(self, layerId: int, name: str) -> BindingInfo:
        """Return id and description of an output.

        ``layerId`` has no effect.

        Raises:
            RuntimeError: Nothing has that name.
        """
        del layerId
        return self._output(name)


def _with_shape(info: armnn.TensorInfo, shape: tuple[int, ...]) -> armnn.TensorInfo:
    return armnn.TensorInfo(shape, info.data_type, info.scales, info.zero_points, info.axis)


def _tensor_names(names: list[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    second = {name: alias for alias, name in aliases.items()}
    return tuple(second.get(name, name) for name in names)


def _binding(
    infos: dict[str, armnn.TensorInfo], aliases: Mapping[str, str], name: str, what: str
) -> BindingInfo:
    first = aliases.get(name, name)
    if first not in infos:
        known = ", ".join(repr(each) for each in _tensor_names(list(infos), aliases))
        raise RuntimeError(f"No {what} binding found for {name!r}: the network has {known}")
    info = infos[first]
    if not info.is_static:
        raise RuntimeError(
            f"the {what} {name!r} is {info}: PyArmNN knows no open dimensions, so fix them in the "
            "model first, for example with armnn convert"
        )
    return list(infos).index(first), TensorInfo.of(info)
