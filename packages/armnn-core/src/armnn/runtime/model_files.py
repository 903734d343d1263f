# SPDX-License-Identifier: MIT
"""Models prepared before: files of prepared models, and the cache that spares the parser.

An entry of the cache that is missing, or does not fit any more, is made anew from the model's file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os.path import dirname, splitext
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from numpy.typing import NDArray

from armnn.__about__ import __version__
from armnn._files import file_sha256
from armnn._load_times import phase, stage
from armnn.backends import ProfilingSink
from armnn.backends.cache import Block, Entry, StaleEntryError
from armnn.backends.encoding import UnstorableError
from armnn.errors import InvalidArgumentError, ModelFileError
from armnn.graph.python_operators import registered_names
from armnn.optimizer import OptimizedNetwork
from armnn.optimizer.plan import NetworkFacts, Plan
from armnn.parsing import format_of, parse, parser_version
from armnn.runtime.backends_in_use import BackendsInUse
from armnn.runtime.request import LoadRequest, OptimizationRequest, parsed
from armnn.storage.folder import (
    SUFFIX,
    CacheFolder,
    mapped_file,
    pack,
    stamp_of,
    unpack,
    write_file,
)
from armnn.storage.model import ModelStore, encoded_facts, facts_in, file_of, network_in
from armnn.storage.pages import joined, with_shared_pages
from armnn.storage.programs import ModelPrograms
from armnn.tensor import TensorInfo, format_shape

if TYPE_CHECKING:  # a prepared load imports no graph and no optimizer
    from armnn.graph import Network
    from armnn.optimizer import OptimizerOptions, Participants, Report


_KEY: Final = ["artifact"]


def write_artifact(
    network: Network,
    file: str,
    request: OptimizationRequest,
    backends: BackendsInUse,
    profiler: ProfilingSink | None,
    shapes: Sequence[Mapping[str, Sequence[int]]] = (),
) -> Report:
    """Prepare and write a network; return its report.

    Args:
        network: The network.
        file: The file.
        request: How it is optimized.
        backends: The backends of the runtime.
        profiler: Where the phases are recorded, if anywhere.
        shapes: Sets of input shapes, where the network leaves some open.

    Raises:
        InvalidArgumentError: The file has another suffix, input shapes are open, or a part of the
            network cannot be stored.
        OSError: The file cannot be written; nothing of it is left.
    """
    # late: a prepared load does without
    from armnn.optimizer import Report, check_layer_names

    if splitext(file)[1] != SUFFIX:
        raise InvalidArgumentError(
            f"a prepared model cannot be written to {file!r}: expected a name that ends in {SUFFIX}"
        )
    check_layer_names(network, request.options.layer_backends)
    programs = ModelPrograms(folder=dirname(file) or ".")
    participants = backends.participants(network, request, profiler, programs)
    made = OptimizedNetwork(
        network, participants, request.options, may_change=True, states=request.states
    )
    sets = [_shapes_in(made, each) for each in shapes or [{}]]
    plans, blocks = [], list[Block]()
    report, outputs = Report(), []
    for sizes in sets:
        plan = made.specialize_alone(sizes)
        try:
            header, own = file_of(made.facts, plan, participants, programs)
        except UnstorableError as error:
            message = f"{made.title} cannot be compiled to a file: {error}"
            raise InvalidArgumentError(message) from error
        programs.begin()
        del header["facts"]
        plans.append({**header, "shapes": sizes, "blocks": len(own)})
        blocks += own
        report += plan.report
        outputs.append(
            {name: each.info.static_shape for name, each in plan.outputs.items() if each}
        )
    held, layout = with_shared_pages(blocks)
    used = {row.backend for row in report}
    facts = replace(
        made.facts,
        inputs=_settled(made.facts.inputs, sets),
        outputs=_settled(made.facts.outputs, outputs),
        is_static=len(sets) == 1,
    )
    stored = {
        "facts": encoded_facts(facts),
        "plans": plans,
        "parts": layout,
        "key": _KEY,
        "made_by": {"core": __version__, "backends": sorted(used)},
    }
    write_file(file, pack(stored, held))
    return report


def _settled(
    infos: Mapping[str, TensorInfo], sets: Sequence[Mapping[str, tuple[int, ...]]]
) -> dict[str, TensorInfo]:
    """Return tensors with the dimensions that they have in all sets of shapes."""

    def settled(name: str, info: TensorInfo) -> TensorInfo:
        dims = zip(*(each[name] for each in sets), strict=True)
        shape = info.shape or (None,) * len(sets[0][name])
        pairs = zip(shape, dims, strict=True)
        return info.with_shape(tuple([each[0] if len({*each}) == 1 else d for d, each in pairs]))

    return {name: settled(name, info) if name in sets[0] else info for name, info in infos.items()}


def _shapes_in(
    made: OptimizedNetwork, given: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """Return the shape of each input.

    Raises:
        InvalidArgumentError: One is not known.
    """
    named = made.aliases.inputs
    known = {named.get(name, name): shape for name, shape in given.items()}
    unknown = next((name for name in known if name not in made.inputs), None)
    if unknown is not None:
        raise InvalidArgumentError(
            f"a shape was given for the input {unknown!r}, which {made.title} does not have: it "
            f"takes {', '.join(map(repr, made.inputs))}"
        )
    infos = {
        name: info.with_shape(tuple(known[name])) if name in known else info
        for name, info in made.inputs.items()
    }
    opened = {name: info for name, info in infos.items() if not info.is_static}
    if opened or made.value_inputs:
        listed = ", ".join(f"{name}={format_shape(info.shape)}" for name, info in opened.items())
        raise InvalidArgumentError(
            f"{made.title} cannot be compiled to a file, as it is prepared for each "
            f"set of input shapes and values ({listed or ', '.join(made.value_inputs)}): give it "
            "shapes, as 'armnn compile --shape' does"
        )
    return {name: info.static_shape for name, info in infos.items()}


def open_artifact(
    file: str,
    request: OptimizationRequest,
    backends: BackendsInUse,
    profiler: ProfilingSink | None,
) -> OptimizedNetwork:
    """Return the network of a file that :func:`write_artifact` made.

    All of the file is checked against its sha256, as it may come from anywhere.

    Raises:
        ModelFileError: It is damaged, or was made by another version, build or CPU.
    """
    try:
        with stage("read"), open(file, "rb", buffering=0) as opened:
            data = mapped_file(opened)
            header, held = unpack(data)
            used = _backends_of(header)
            facts = facts_in((header, held))
            blocks = joined(opened, data, held, header.get("parts"))
        plans = _plans_in(header, blocks)
    except StaleEntryError as error:
        raise _unusable(file, error) from error
    if request.backends is None and used:
        request = replace(request, backends=tuple(used))
    programs = ModelPrograms()
    participants = backends.participants(None, request, profiler, programs)
    missing = sorted(set(used) - {candidate.id for candidate in participants.all})
    if missing:
        raise ModelFileError(
            f"the prepared model {file!r} runs on {', '.join(used)}: expected "
            f"{', '.join(missing)} among the backends, or none named"
        )
    participants.compute_as(facts.quantized_arithmetic)
    store = _Artifact(file, plans, programs)

    def make() -> OptimizedNetwork:
        raise ModelFileError(
            f"the prepared model {file!r} holds {len(plans)} "
            f"set{'s' if len(plans) > 1 else ''} of shapes only, and the model is not there to "
            "prepare it for others: compile it for these, too"
        )

    return OptimizedNetwork.stored(facts, participants, request.options, store, make, file)


def _unusable(file: str, reason: StaleEntryError) -> ModelFileError:
    """Return the error about a file that does not fit."""
    return ModelFileError(
        f"the prepared model {file!r} cannot be used here: {reason}; 'armnn compile' makes it "
        "again of the original model"
    )


_Shapes: TypeAlias = "Mapping[str, tuple[int, ...]]"


def _plans_in(
    header: dict[str, Any], blocks: Sequence[memoryview]
) -> list[tuple[dict[str, tuple[int, ...]], Entry]]:
    """Return the prepared networks of a file, with the shapes that each is for.

    Raises:
        StaleEntryError: They are something else.
    """
    made = []
    try:
        for each in header["plans"]:
            own, blocks = blocks[: each["blocks"]], blocks[each["blocks"] :]
            shapes = {name: tuple(shape) for name, shape in each["shapes"].items()}
            made.append((shapes, (each, list(own))))
    except (TypeError, LookupError, AttributeError) as error:
        raise StaleEntryError(f"it holds no prepared networks: {error!r}") from error
    return made


class _Artifact:
    """The prepared networks of a file, as a store."""

    def __init__(
        self,
        file: str,
        plans: Sequence[tuple[_Shapes, Entry]],
        programs: ModelPrograms,
    ) -> None:
        self._file = file
        self._plans = plans
        self._programs = programs

    def prepared(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        _values: Mapping[str, NDArray[Any]],
        facts: NetworkFacts,
        participants: Participants,
        options: OptimizerOptions,
    ) -> Plan | None:
        """Return the prepared network for input shapes; None if the file lacks it.

        Raises:
            ModelFileError: It does not fit.
        """
        entry = next((entry for known, entry in self._plans if known == shapes), None)
        if entry is None:
            return None
        try:
            made = network_in(entry, self._programs, shapes, facts, participants, options)
        except StaleEntryError as error:
            raise _unusable(self._file, error) from error
        self._programs.begin()
        return made

    def keep(self, *_prepared: object) -> None:
        """Do nothing: the file has all plans."""


def _backends_of(header: dict[str, Any]) -> list[str]:
    """Return the backends that a file was made for.

    Raises:
        StaleEntryError: It is another file, or of another version of the core.
    """
    made_by = header.get("made_by")
    if header.get("key") != _KEY or not isinstance(made_by, dict):
        raise StaleEntryError("it is a file of a cache, which belongs to its folder")
    if made_by.get("core") != __version__:
        raise StaleEntryError(
            f"armnn-core {made_by.get('core')} made it, and this is {__version__}"
        )
    used = made_by.get("backends")
    if not isinstance(used, list) or not all(isinstance(each, str) for each in used):
        raise StaleEntryError(f"its backends are {used!r}, expected a list of ids")
    return used


def open_model(
    file: str,
    origin: LoadRequest,
    cache: CacheFolder,
    backends: BackendsInUse,
    profiler: ProfilingSink | None,
) -> OptimizedNetwork:
    """Return a model, from a cache or stored there.

    Args:
        file: The model's file.
        origin: How the caller wants it loaded.
        cache: The cache.
        backends: The backends of the runtime.
        profiler: Where the phases are recorded, if anywhere.

    Raises:
        ModelFileError: The file cannot be read or understood, or changes meanwhile, as may files
            beside it.
    """
    source, request, options = origin.source, origin.request, origin.request.options
    stamp, digest = stamp_of(file), cache.digests.of(file)
    source.known_sha256[:] = [digest]
    programs = ModelPrograms(cache)
    participants = backends.participants(None, request, profiler, programs)
    described = backends.described(participants)
    store = ModelStore(file, cache, _dependencies(file, digest, origin, described), programs)
    facts = store.facts()
    if facts is not None:
        participants.compute_as(facts.quantized_arithmetic)

    def make() -> OptimizedNetwork:
        """Parse the model, for shapes that the cache lacks."""
        if file_sha256(file) != digest:
            raise ModelFileError(
                f"the model {file!r} has changed since it was loaded: load it again"
            )
        network = parse(file, parser_options=origin.parser_options)
        made = OptimizedNetwork(
            network, participants, options, may_change=True, states=request.states
        )
        with _unchanged(file):
            store.files_of(made.network.external_files)
        return made

    if facts is not None:
        source.digests.update(store.files)
        return OptimizedNetwork.stored(facts, participants, options, store, make, file)
    # late: a prepared load does without
    from armnn.optimizer import check_layer_names

    with phase(profiler, "parse"):
        network, again = parsed(source, request, origin.parser_options)
    source.read.update(network.external_files)
    if stamp_of(file) != stamp:
        raise ModelFileError(f"the model {file!r} changed while it was loaded: load it again")
    check_layer_names(network, options.layer_backends)
    if not _is_storable(network):
        participants = backends.participants(network, request, profiler, cache)
        return OptimizedNetwork(
            network,
            participants,
            options,
            may_change=True,
            again=again,
            states=request.states,
        )
    participants.compute_as(network.quantized_arithmetic)
    made = OptimizedNetwork(
        network, participants, options, may_change=True, again=again, states=request.states
    )
    if not made.is_static:
        if not origin.shapes:
            made.check_backends()
        with _unchanged(file):
            store.keep_facts(made.facts, made.network.external_files)
    made.store = store
    return made


def _dependencies(
    file: str, digest: str, origin: LoadRequest, backends: Sequence[str]
) -> dict[str, Any]:
    """Return the facts on which the preparation of a model depends."""
    suffix = format_of(file, origin.parser_options)
    return {
        "model": digest,
        "suffix": suffix,
        "core": __version__,
        "parser": parser_version(suffix),
        "participants": list(backends),
        "parser options": dict(origin.parser_options),
        "request": origin.request.cache_key,
        **({"operators": registered_names()} if registered_names() else {}),
    }


def _is_storable(network: Network) -> bool:
    """Return whether files and shapes determine the network."""
    from armnn.graph.network import UNNAMED  # late: a prepared load does without

    if UNNAMED in network.external_files:
        return False
    if registered_names() and any(layer.compiled is not None for layer in network.layers):
        return False  # what waits for shapes or data may become an operator in Python
    return all(layer.backend_hint is None for layer in network.layers)


@contextmanager
def _unchanged(file: str) -> Iterator[None]:
    """Raise ModelFileError where a file beside a model has changed."""
    try:
        yield
    except StaleEntryError as error:
        raise ModelFileError(
            f"the model {file!r} has changed since it was loaded: {error}; load it again"
        ) from error
