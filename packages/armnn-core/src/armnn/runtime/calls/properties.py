# SPDX-License-Identifier: MIT
"""The properties of a loaded network (``INetworkProperties``)."""

from __future__ import annotations

from dataclasses import dataclass

from armnn._arguments import flag, instance, refused, with_known_names
from armnn.backends import ProfilingSink
from armnn.errors import InvalidArgumentError
from armnn.optimizer import OptimizerOptions
from armnn.types import MemorySource


@with_known_names("property {} of a loaded network")
@dataclass(frozen=True, slots=True)
class NetworkProperties:
    """What a network is loaded for (Arm NN: ``INetworkProperties``).

    Attributes:
        input_source: Where memory that is imported for inputs comes from, unless
            ``import_inputs(source=...)`` says otherwise.
        output_source: The same of outputs.
        profiler: Gets the events of all runs that have no profiler of their own. Arm NN's
            ``m_ProfilingEnabled`` is whether there is one.
        external_memory_management_enabled: Whether working memory comes from the allocator of the
            backend, as the memory strategy plans it. It does in either case.
        async_enabled: Whether ``submit`` is allowed.
    """

    input_source: MemorySource = MemorySource.UNDEFINED
    output_source: MemorySource = MemorySource.UNDEFINED
    profiler: ProfilingSink | None = None
    external_memory_management_enabled: bool = False
    async_enabled: bool = True

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError for properties of a wrong kind."""
        for name in ("input_source", "output_source"):
            what = f"the property {name}"
            object.__setattr__(self, name, MemorySource.of(getattr(self, name), what))
        for name in ("external_memory_management_enabled", "async_enabled"):
            object.__setattr__(self, name, flag(getattr(self, name), f"the property {name}"))
        check_profiler(self.profiler)


def properties_for(options: OptimizerOptions) -> NetworkProperties:
    """Return the properties of a network loaded without any."""
    return NetworkProperties(
        MemorySource.MALLOC if options.import_enabled else MemorySource.UNDEFINED,
        MemorySource.MALLOC if options.export_enabled else MemorySource.UNDEFINED,
    )


def check_properties(name: str, properties: object, options: OptimizerOptions) -> None:
    """Check that a network was optimised for its properties.

    Raises:
        InvalidArgumentError: It was optimised for imports and is loaded for none, or the other way
            round; or they are none.
    """
    if properties is None:
        return
    given = instance(properties, NetworkProperties, "the properties")
    for option, enabled, field, source in (
        ("import_enabled", options.import_enabled, "input_source", given.input_source),
        ("export_enabled", options.export_enabled, "output_source", given.output_source),
    ):
        if enabled is (source is MemorySource.UNDEFINED):
            raise InvalidArgumentError(
                f"the network {name!r} was optimised with {option}={enabled} and is loaded with "
                f"{field}={source.arm_name}: expected "
                + ("a source of memory" if enabled else MemorySource.UNDEFINED.arm_name)
                + f", or optimise it with {option}={not enabled}"
            )


def check_profiler(profiler: object) -> None:
    """Raise InvalidArgumentError unless events can be given to it."""
    if profiler is not None and not has_method(profiler, "event"):
        raise refused("the profiler", profiler, "a ProfilingSink such as armnn.profiling.Recorder")


def has_method(value: object, name: str) -> bool:
    """Return whether a value, no class, has a method."""
    return not isinstance(value, type) and callable(getattr(value, name, None))
