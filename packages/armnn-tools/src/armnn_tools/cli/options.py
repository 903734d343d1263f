# SPDX-License-Identifier: MIT
"""The options that several commands share.

Functions named ``add_..._arguments`` declare options; the others turn the parsed values into what
the core takes. An option that a command takes once is refused the second time.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import closest
from armnn.backends import BackendRegistry, CreationOptions, OptionValue
from armnn.backends.options import WHOLE_GROUPS
from armnn.backends.sources import PROBES
from armnn.errors import InvalidArgumentError
from armnn.installing import CPU_ACC, CPU_REF, install_command
from armnn.optimizer.options import REMOVED, OptimizerOptions, ShapeInferenceMethod, default_of
from armnn.runtime import Runtime
from armnn_tools.cli.output import printable, progress
from armnn_tools.threads import THREADS, with_threads

_OPTION = r"((?:isolated:|(?:ssh|board)://[^=]*/)?\w+)\.([^=]+)=(.*)"
"""ID.NAME=VALUE; an id may say where its backend runs."""

MODEL_HELP = "a model file; its suffix says the format, or its content where no parser has that"
"""The help of the argument MODEL."""

_OTHERWISE = {
    "model_options": "--option",
    "layer_backends": "--layer-backend",
    "strict": "--strict",
    "profiling_enabled": "--profile",
}
"""Fields that the command has other options for."""

_SPELLED = {
    "debug": "--print-intermediate-layers",
    "debug_to_file": "--print-intermediate-layers-to-file",
}
"""Fields with the names that Arm NN's ExecuteNetwork gives them; --debug is about the command."""

_SHORTER = {"reduce_fp32_to_fp16": "--fp16-turbo", "reduce_fp32_to_bf16": "--bf16"}
"""Second names: Arm NN's ExecuteNetwork has a "turbo mode" for each."""


class UsageError(SystemExit):
    """A command line cannot be understood; the message is on stderr already.

    Attributes:
        message: The text of the fault.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code)
        self.message = message


class Parser(argparse.ArgumentParser):
    """An ``ArgumentParser`` that refuses repeated single-value options.

    The standard library silently uses the last value. An option that a command does not have is
    answered with the closest one, and so is a command; a file in its place with ``run``.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Make a parser from the arguments of ``ArgumentParser``."""
        super().__init__(*arguments, **options)
        self.register("action", None, _StoreOnce)
        self.register("action", "store", _StoreOnce)

    def parse_known_args(  # type: ignore[override] # of several signatures, the one that is used
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read arguments; end with code 2 at an unknown option."""
        options, rest = super().parse_known_args(args, namespace)
        strange = next((each for each in rest if each.startswith("-")), None)
        if strange is not None:
            name = strange.partition("=")[0]
            removed = REMOVED.get(name.removeprefix("--").replace("-", "_"))
            if removed is not None:
                instead = as_options(removed)
                self.exit(2, f"{self.prog}: error: there is no option {name} any more: {instead}\n")
            meant = closest(name, [each for each in self._option_string_actions if each != name])
            hint = f"did you mean {meant}?" if meant else f"'{self.prog} --help' lists the options"
            self.exit(2, f"{self.prog}: error: there is no option {name}; {hint}\n")
        return options, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """End with code 2 at a command that does not exist, with a suggestion."""
        is_command = isinstance(action, argparse._SubParsersAction)
        if is_command and value not in (action.choices or ()):
            if os.path.splitext(value)[1] or os.path.exists(value):
                hint = f"did you mean {self.prog} run {shlex.quote(value)}?"
            elif value == "generate":
                hint = f"armnn-generate brings it: {install_command('armnn-core[llm]')}"
            else:
                meant = closest(value, action.choices or (), 0.6)
                hint = f"did you mean {meant}?" if meant else f"'{self.prog} --help' lists them"
            self.exit(2, f"{self.prog}: error: there is no command {value!r}; {hint}\n")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """End with code 2 and one line; the usage has fifty."""
        hint = "" if "expected" in message else f"; '{self.prog} --help' has examples"
        self.exit(2, f"{self.prog}: error: {message}{hint}\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End with a code, after a message on stderr."""
        if not status:
            super().exit(status, message)
        text = message or ""
        sys.stderr.write(text)
        raise UsageError(status, text.strip().partition("error: ")[2] or text.strip())


class _StoreOnce(argparse._StoreAction):
    """Stores the value of an option; a second one is an error."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        given = vars(namespace).setdefault("_given", set())
        if option_string is not None and self.dest in given:
            earlier = getattr(namespace, self.dest)
            raise argparse.ArgumentError(
                self, f"was given twice: got {earlier!r} first and {values!r} now, expected one"
            )
        given.add(self.dest)
        super().__call__(parser, namespace, values, option_string)


def add_command(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
    examples: str,
    handler: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a command to the parser of ``armnn``; line breaks in its examples are kept.

    Args:
        subparsers: The subparsers of ``armnn``.
        name: The name of the command.
        summary: The line about the command in the list of commands.
        description: The text that its own help begins with.
        examples: The text that its own help ends with.
        handler: The function that runs the command and returns the exit status.

    Returns:
        The parser of the command, for its options.
    """
    parser = subparsers.add_parser(
        name,
        help=summary,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(handler=handler)
    return parser


def add_model_arguments(parser: argparse.ArgumentParser, *, needs_model: bool = True) -> None:
    """Add MODEL, the options for its parser and those that choose its backends."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs=None if needs_model else "?",
        help=MODEL_HELP,
    )
    add_format_argument(parser)
    part = parser.add_argument_group("parts of TensorFlow Lite files")
    part.add_argument(
        "--signature",
        metavar="NAME",
        help="the signature to read (default: the first of subgraph 0)",
    )
    part.add_argument(
        "--subgraph", type=natural_number, metavar="N", help="the number of the subgraph to read"
    )
    parser.add_argument_group("initializers of ONNX files").add_argument(
        "--overridable",
        metavar="NAME,...",
        help="initializers among the inputs of the model that are to be given as inputs",
    )
    add_backend_arguments(parser)


def add_backend_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose backends, for :func:`opened_runtime` and others."""
    group = parser.add_argument_group("backends")
    with_completed_ids(
        group.add_argument(
            "--backends",
            metavar="ID,...",
            type=backend_ids,
            action="extend",
            help="the backends to use, most preferred first (default: those installed whose score "
            "is above 0, as 'armnn backends --load' shows); one with a question mark, as in "
            "'GpuAcc?', is skipped if it cannot be used; given again, it adds more",
        )
    )
    group.add_argument(
        "--threads",
        type=natural_number,
        default=0,
        metavar="N",
        help="threads of one run, for each backend that can be told (default: its own choice)",
    )
    add_dynamic_path_argument(
        group,
        "a folder with backends in shared libraries; one is used where --backends names it",
    )
    group.add_argument(
        "--no-static-backends",
        action="store_true",
        help="leave out the backends of installed packages",
    )
    group.add_argument(
        "--probe",
        choices=PROBES,
        default=PROBES[0],
        help="whether shared libraries are tried out in a process of their own first "
        "(default: %(default)s, once for each state of a file)",
    )
    add_lock_file_argument(group)
    group.add_argument(
        "--isolate",
        metavar="ID,...",
        type=_isolated_ids,
        default=(),
        help="backends that run in worker processes of their own, so that a crash costs no answer; "
        "'dynamic' for all shared libraries, 'auto' for all that ended a process before",
    )
    add_board_argument(group)
    group.add_argument(
        "--layer-backend",
        metavar="NAME=ID",
        action="append",
        default=[],
        help="run the layer of this name on this backend (may be repeated)",
    )
    group.add_argument(
        "--option",
        metavar="ID.NAME=VALUE",
        action="append",
        default=[],
        help=f"an option of the model for a backend, as in {CPU_ACC}.NumberOfThreads=2 (may be "
        "repeated)",
    )
    group.add_argument(
        "--runtime-option",
        metavar="ID.NAME=VALUE",
        action="append",
        default=[],
        help="an option of the runtime for a backend, as in GpuAcc.Device=gpu (may be repeated)",
    )
    group.add_argument(
        "--strict",
        action="store_true",
        help="fail where a layer would fall back to a less preferred backend",
    )


def with_completed_ids(action: argparse.Action) -> None:
    """Let a shell complete the ids of backends in the value of an option."""
    action.completer = _completed_ids  # type: ignore[attr-defined] # argcomplete reads it


def _completed_ids(prefix: str, **_: object) -> list[str]:
    """Return how a comma separated list of ids may go on; no backend is loaded for it."""
    before, comma, _last = prefix.rpartition(",")
    named = before.split(",")
    entries = BackendRegistry(CreationOptions()).entries()
    return [f"{before}{comma}{each.id}" for each in entries if each.id not in named]


def add_format_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--format``, which :func:`parser_options` returns."""
    parser.add_argument(
        "--format",
        metavar="NAME",
        help="what to take MODEL for: the suffix of such files, as in onnx, tflite or armnn",
    )


def add_board_argument(group: argparse._ArgumentGroup) -> None:
    """Add ``--board``, whose values :func:`boards` reads."""
    group.add_argument(
        "--board",
        metavar="NAME=COMMAND",
        action="append",
        default=[],
        help="a command that runs 'python3 -m armnn worker' elsewhere; --backends board://NAME/ID "
        "uses it",
    )


def creation_options(arguments: argparse.Namespace) -> CreationOptions:
    """Return the creation options of a runtime for the given backends.

    Raises:
        InvalidArgumentError: An option is malformed, or is for a backend that is not given.
    """
    options = backend_options(arguments.runtime_option, "--runtime-option")
    given = [each.removesuffix("?") for each in arguments.backends or options]
    for backend in options:
        if backend not in given:
            raise InvalidArgumentError(
                f"--runtime-option is for backend {backend!r}, which --backends does not name: "
                f"expected one of {', '.join(given)}"
            )
    return CreationOptions(
        dynamic_backends_path=arguments.dynamic_backends_path,
        enable_static_backends=not arguments.no_static_backends,
        probe=arguments.probe,
        require_locked=arguments.lock_file is not None,
        lock_file=arguments.lock_file,
        isolate=arguments.isolate,
        boards=boards(arguments.board),
        backend_options=options,
    )


def add_dynamic_path_argument(
    group: argparse._ActionsContainer, purpose: str, default: str | None = None
) -> None:
    """Add ``--dynamic-backends-path``: a relative path begins in the current folder."""
    group.add_argument(
        "--dynamic-backends-path",
        metavar="DIR",
        type=lambda text: text and os.path.abspath(text),
        default=default,
        help=purpose,
    )


def opened_runtime(arguments: argparse.Namespace) -> Runtime:
    """Return a runtime for the given backends.

    Progress is shown, as trying out shared libraries takes a while.
    """
    with progress("Finding backends"):
        return Runtime(creation_options(arguments))


def _isolated_ids(text: str) -> Sequence[str] | str:
    """Return the value of ``--isolate``: ids, or a word for many."""
    return text if text in WHOLE_GROUPS else backend_ids(text)


def boards(texts: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the command of each board that ``--board`` names.

    Raises:
        InvalidArgumentError: The value is not NAME=COMMAND.
    """
    found: dict[str, Sequence[str]] = {}
    for text in texts:
        name, equals, command = text.partition("=")
        words = shlex.split(command) if equals else []
        if not name or not words:
            raise InvalidArgumentError(
                f"--board got {text!r}, expected NAME=COMMAND as in "
                "'box=docker exec -i box python3 -m armnn worker'"
            )
        found[name] = words
    return found


def parser_options(arguments: argparse.Namespace) -> dict[str, str | int]:
    """Return the keywords for the model's parser."""
    names = ("format", "overridable", "signature", "subgraph")
    given = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def layer_backends(texts: Sequence[str]) -> dict[str, str]:
    """Return the backend of each layer that ``--layer-backend`` names.

    Raises:
        InvalidArgumentError: The value has no "=", or names a layer twice.
    """
    chosen: dict[str, str] = {}
    for text in texts:
        # Names of layers may contain "=", ids of backends may not.
        name, equals, backend = text.rpartition("=")
        if not equals or not name or not backend:
            raise InvalidArgumentError(
                f"--layer-backend got {text!r}, expected NAME=ID as in conv1={CPU_REF}"
            )
        if name in chosen:
            raise InvalidArgumentError(f"--layer-backend was given twice for {name!r}")
        chosen[name] = backend
    return chosen


def backend_options(
    texts: Sequence[str], flag: str = "--option"
) -> dict[str, dict[str, OptionValue]]:
    """Return the options of each backend that ``--option``, or another flag, names.

    ``true`` and ``false`` are Booleans, what looks like a number is one, the rest is text.

    Raises:
        InvalidArgumentError: The value is not ID.NAME=VALUE, or an option is given twice.
    """
    options: dict[str, dict[str, OptionValue]] = {}
    for text in texts:
        match = re.fullmatch(_OPTION, text, re.DOTALL)
        if match is None:
            raise InvalidArgumentError(
                f"{flag} got {text!r}, expected ID.NAME=VALUE as in {CPU_ACC}.NumberOfThreads=2"
            )
        backend, name, value = match.groups()
        of_backend = options.setdefault(backend, {})
        if name in of_backend:
            raise InvalidArgumentError(f"{flag} was given twice for {backend}.{name}")
        of_backend[name] = _option_value(value)
    return options


def options_of_backends(arguments: argparse.Namespace) -> dict[str, dict[str, OptionValue]]:
    """Return the options of each backend that ``--option`` and ``--threads`` say.

    Raises:
        InvalidArgumentError: A value of ``--option`` is malformed, or no backend has threads.
        BackendError: A backend that is named cannot be used.
    """
    given = backend_options(arguments.option)
    if not arguments.threads:
        return given
    named = None if arguments.backends == ["auto"] else arguments.backends
    registry = BackendRegistry(creation_options(arguments))
    try:
        backends = registry.find_usable(named)
        found = with_threads(backends, arguments.threads, given)
    finally:
        registry.close()
    peers = getattr(arguments, "against", None)  # of bench: these have threads
    if not peers and not any(THREADS in options for options in found.values()):
        ids = ", ".join(backend.id for backend in backends)
        raise InvalidArgumentError(
            f"--threads got {arguments.threads}, but none of the backends {ids} has an option for "
            "the number of threads: leave --threads out"
        )
    return found


def _option_value(text: str) -> OptionValue:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        return float(text)
    return text


def flag_of(option: Field[Any]) -> str:
    """Return the option that sets a field of OptimizerOptions."""
    known = _OTHERWISE.get(option.name) or _SPELLED.get(option.name)
    prefix = "--no-" if default_of(option) is True else "--"
    return known or prefix + option.name.replace("_", "-")


def add_optimizer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an option for each field of OptimizerOptions that no other option sets."""
    group = parser.add_argument_group("optimizer")
    for option in _own_options():
        purpose, default = option.metadata["purpose"], default_of(option)
        kind: dict[str, Any] = {"action": "store_true", "help": purpose}
        if option.name == "debug_to_file":
            kind = {"metavar": "DIR", "default": False, "help": purpose}
        elif isinstance(default, ShapeInferenceMethod):
            names = [member.arm_name for member in ShapeInferenceMethod]
            shown = f"{purpose} (default: %(default)s)"
            kind = {"choices": names, "default": default.arm_name, "help": shown}
        elif default is None:
            kind = {"metavar": "N", "type": int, "help": purpose}
        elif isinstance(default, str):
            kind = {"metavar": "FILE", "default": default, "help": purpose}
        elif default is True:
            kind = {"action": "store_false", "help": f"do not {purpose}"}
        spelled = [flag_of(option)]
        spelled += [_SHORTER[option.name]] if option.name in _SHORTER else []
        group.add_argument(*spelled, dest=f"optimizer_{option.name}", **kind)


def optimizer_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the values of the options of :func:`add_optimizer_arguments`, by field."""
    given = {each.name: getattr(arguments, f"optimizer_{each.name}") for each in _own_options()}
    return {**given, "debug": show_tensor if given["debug"] else False}


def preparation(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keywords with which ``Runtime`` optimizes, loads or compiles the model.

    Raises:
        InvalidArgumentError: A value of ``--option`` or ``--layer-backend`` is malformed.
    """
    return {
        **optimizer_options(arguments),
        "backend_options": options_of_backends(arguments),
        "layer_backends": layer_backends(arguments.layer_backend),
        "strict": arguments.strict,
    }


def quiet_preparation(arguments: argparse.Namespace) -> OptimizerOptions:
    """Return the optimizer's options without those that show intermediate tensors.

    Raises:
        InvalidArgumentError: A value of ``--option`` or ``--layer-backend`` is malformed.
    """
    keywords = {**preparation(arguments), "debug": False, "debug_to_file": False}
    return OptimizerOptions(model_options=keywords.pop("backend_options"), **keywords)


def show_tensor(layer: str, slot: int, array: NDArray[Any]) -> None:
    """Print the type, shape and range of an intermediate tensor to standard error."""
    what = f"{layer} ({slot}): {array.dtype}{list(array.shape)}"
    if array.size:
        numbers = array.astype(np.float64)
        what += f" from {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}"
    print(printable(what), file=sys.stderr)


_PYTHON = {
    "backend_options": "--option",
    "backends": "--backends",
    "beyond_arm_nn": "--beyond-arm-nn",
    "budget": "--budget",
    "dynamic_backends_path": "--dynamic-backends-path",
    "enable_static_backends": "without --no-static-backends",
    "format": "--format",
    "isolate": "--isolate",
    "lock_file": "--lock-file",
    "probe": "--probe",
    "quantize": "--quantize-input",
    "shapes": "--shape",
}
"""The options for arguments of Python's functions beside those of the optimizer."""


@functools.cache
def _spellings() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return the option of each argument, and a pattern that finds arguments in a text."""
    known = _PYTHON | {field.name: flag_of(field) for field in fields(OptimizerOptions)}
    names = "|".join(sorted(known, key=len, reverse=True))
    values = r"True|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|"
    # Without "=" only what is no English word.
    words = "|".join(name for name in known if "_" in name)
    return known, re.compile(rf"\b(?:({names})=({values})|({words})\b(?![=.(]))")


def as_options(text: str) -> str:
    """Return a text of the core with options in place of Python's arguments.

    ``strict=True`` becomes ``--strict``, and ``backends=['A', 'B']`` ``--backends A,B``.
    """
    known, pattern = _spellings()

    def option(found: re.Match[str]) -> str:
        name, value, word = found.groups()
        if value in (None, "", "True"):
            return known[name or word]
        parts = (part.strip().strip("'\"") for part in value.strip("[]").split(","))
        return f"{known[name]} {','.join(parts)}"

    return pattern.sub(option, text)


def _own_options() -> list[Field[Any]]:
    return [option for option in fields(OptimizerOptions) if option.name not in _OTHERWISE]


def add_shape_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--shape``."""
    group.add_argument(
        "--shape",
        metavar="NAME=1x3x224x224",
        action="append",
        default=[],
        help="the shape of an input whose dimensions the model leaves open, as 1x3x224x224 or "
        "1,3,224,224 (may be repeated)",
    )


def add_quantize_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--quantize-input``."""
    group.add_argument(
        "--quantize-input",
        action="store_true",
        help="take real numbers for quantized inputs, too",
    )


def add_seed_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--seed``."""
    group.add_argument(
        "--seed", type=natural_number, default=0, metavar="N", help="of random data (default: 0)"
    )


def add_data_arguments(group: argparse._ActionsContainer) -> None:
    """Add the options for the inputs of a run: ``--input`` and related ones."""
    group.add_argument(
        "--input",
        metavar="NAME=SOURCE",
        action="append",
        default=[],
        help="the data of an input: a .npy or .npz file, a picture, numbers as in sr=16000 or "
        "axes=0,1, the word random or zeros, or a folder with a file for each set of inputs (may "
        "be repeated; NAME= may be left out if there is one input; what is not given is random)",
    )
    add_quantize_argument(group)
    add_shape_argument(group)
    add_seed_argument(group)


def add_lock_file_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--lock-file``."""
    group.add_argument(
        "--lock-file",
        metavar="FILE",
        help="load only what this file lists, which 'armnn backends lock' wrote",
    )


def backend_ids(text: str) -> list[str]:
    """Split a comma separated list of backend ids."""
    ids = [part.strip() for part in text.split(",")]
    if not all(ids):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected ids as in {CPU_ACC},{CPU_REF}")
    return ids


_MOST = 999_999_999


def natural_number(text: str) -> int:
    """Read a number from 0 up."""
    return _whole(text, 0)


def positive_number(text: str) -> int:
    """Read a number from 1 up."""
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or len(text) > 9 or int(text) < least:
        expected = f"a whole number from {least} to {_MOST}"
        raise argparse.ArgumentTypeError(f"got {text!r}, expected {expected}")
    return int(text)


def number(text: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number")
    return value
