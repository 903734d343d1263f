# SPDX-License-Identifier: MIT
"""What specialisations have in common that are one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from armnn.backends.cache import CachedProgram
from armnn.graph import Layer, Value
from armnn.optimizer.candidate import Candidate
from armnn.optimizer.participants import Participants
from armnn.optimizer.prepared import Prepared
from armnn.optimizer.single_program import ProgramLayer, ProgramPorts, SingleProgram
from armnn.optimizer.symbolic.recipes import Numbers, SymbolicInfo
from armnn.tensor import TensorInfo


class ProgramFrame:
    """A network that is one program, whatever the shapes.

    So a further set of shapes needs no network of its own, which takes longer to make than all
    else that the host does for it. The first one is run without its network, too: the modules that
    plan the memory of layers are not imported for it.
    """

    def __init__(
        self,
        prepared: Prepared,
        part: Layer,
        candidate: Candidate,
        infos: Mapping[Value, TensorInfo],
    ) -> None:
        """Keep what does not depend on the shapes.

        Args:
            prepared: The specialisation for the first shapes.
            part: Its only layer but inputs and outputs.
            candidate: The backend of that.
            infos: Those of its values, symbolic where shapes decide.
        """
        network = prepared.network
        self._name, self._part, self._candidate = network.name, part, candidate
        names = {layer.output: layer.name for layer in network.inputs}
        self._inputs = {name: SymbolicInfo(infos[value]) for value, name in names.items()}
        self._made = [SymbolicInfo(infos[value]) for value in part.outputs]
        self._read = tuple([names[value] for value in part.inputs if value is not None])
        self._outputs = {
            layer.name: names[value] if value in names else part.outputs.index(value)
            for layer in network.outputs
            for value in layer.inputs
            if value is not None
        }

    def program(
        self,
        numbers: Numbers,
        compiled: Mapping[Layer, Any],
        whole: Callable[[], Prepared],
        *,
        is_derived: bool,
    ) -> SingleProgram:
        """Return the specialisation for some shapes.

        Args:
            numbers: The numbers for these shapes.
            compiled: What the layers of the first shapes hold for these.
            whole: Makes the network.
            is_derived: Whether they are other shapes than the first.
        """
        part, program = self._part, compiled[self._part]
        ports = ProgramPorts(
            {name: info.settled(numbers) for name, info in self._inputs.items()},
            self._read,
            self._outputs,
            tuple([info.settled(numbers) for info in self._made]),
        )
        return SingleProgram(
            self._name,
            ProgramLayer(part.name, part.backend or "", program),
            ports,
            self._candidate,
            lambda: whole().report,
            lambda _program: whole(),
            is_derived=is_derived,
        )


def only_program(prepared: Prepared, participants: Participants) -> SingleProgram | None:
    """Return the only specialisation of a network as a program.

    None if it has more layers than that.

    Args:
        prepared: Its only specialisation.
        participants: The backends.
    """
    infos = {value: value.info for layer in prepared.network.layers for value in layer.outputs}
    frame = program_frame(prepared, participants, infos)
    if frame is None:
        return None
    compiled = {layer: layer.compiled for layer in prepared.network.layers}
    return frame.program((), compiled, lambda: prepared, is_derived=False)


def program_frame(
    prepared: Prepared, participants: Participants, infos: Mapping[Value, TensorInfo]
) -> ProgramFrame | None:
    """Return a network's frame, None if it has more layers.

    Args:
        prepared: The specialisation for the first shapes.
        participants: The backends.
        infos: Those of its values, symbolic where shapes decide.
    """
    network = prepared.network
    ends = {*network.inputs, *network.outputs}
    parts = [layer for layer in network.layers if layer not in ends]
    if len(parts) != 1 or not isinstance(parts[0].compiled, CachedProgram):
        return None
    (part,) = parts
    by_id = {each.id: each for each in participants.all}
    candidate = by_id.get(part.backend or "")
    read = [layer.output for layer in network.inputs]
    made = [value for layer in network.outputs for value in layer.inputs]
    is_plain = (
        len(part.inputs) == len(read) == len({*part.inputs, *read})
        and all(value in (*read, *part.outputs) for value in made)
        and len({layer.name for layer in network.outputs}) == len(made)
    )
    if candidate is None or candidate.backend.handle_factory_preferences or not is_plain:
        return None
    return ProgramFrame(prepared, part, candidate, infos)
