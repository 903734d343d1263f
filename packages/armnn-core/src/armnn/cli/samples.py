# SPDX-License-Identifier: MIT
"""The samples with which ``compare`` and ``reduce`` run a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armnn._installing import REFERENCE
from armnn.cli.arguments import positive_number
from armnn.cli.inputs import ARRAY_SUFFIXES, InputOptions, make_feeds
from armnn.cli.model_options import add_model_arguments, opened_runtime
from armnn.cli.optimizer_options import add_optimizer_arguments
from armnn.cli.output import progress
from armnn.cli.pictures import PICTURE_SUFFIXES
from armnn.cli.run_options import add_quantize_argument, add_seed_argument, add_shape_argument
from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Network


def add_sample_arguments(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Add the model, its preparation, the reference and the samples.

    Returns:
        The group of that title, for the command's own options.
    """
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    group = parser.add_argument_group(title)
    group.add_argument(
        "--reference",
        metavar="ID",
        default=REFERENCE,
        help="the backend that defines what is right (default: %(default)s)",
    )
    group.add_argument(
        "--inputs",
        metavar="DIR",
        default="random",
        help="a folder with a file for each sample, .npz with an array per input or, for one "
        "input, .npy or a picture; or the word random (default: %(default)s)",
    )
    group.add_argument(
        "--samples",
        type=positive_number,
        default=1,
        metavar="N",
        help="how many random samples (default: %(default)s)",
    )
    add_quantize_argument(group)
    add_seed_argument(group)
    add_shape_argument(group)
    return group


def samples_for(network: Network, arguments: argparse.Namespace) -> list[dict[str, NDArray[Any]]]:
    """Return the inputs of each sample.

    Raises:
        InvalidArgumentError: The folder is none, or has no file of a known kind.
        ArmnnError: A file does not fit the network.
    """
    base = InputOptions(
        shapes=arguments.shape, seed=arguments.seed, quantize=arguments.quantize_input
    )
    if arguments.inputs == "random":
        wanted = [replace(base, seed=arguments.seed + at) for at in range(arguments.samples)]
    else:
        wanted = [replace(base, sources=[str(file)]) for file in _files(Path(arguments.inputs))]
    infos = {layer.name: layer.output.info for layer in network.inputs}
    with opened_runtime(arguments) as runtime, progress("Preparing inputs"):
        loaded = None
        if not all(info.is_static for info in infos.values()):
            loaded = runtime.load_model(network, [arguments.reference])
        check = None if loaded is None else loaded.prepare
        return [
            {feed.name: feed.array for feed in make_feeds(infos, options, network.metadata, check)}
            for options in wanted
        ]


def _files(folder: Path) -> Sequence[Path]:
    suffixes = ARRAY_SUFFIXES + PICTURE_SUFFIXES
    if not folder.is_dir():
        raise InvalidArgumentError(
            f"--inputs got {str(folder)!r}, expected a folder with a file per sample, or random"
        )
    found = sorted(each for each in folder.iterdir() if each.suffix.lower() in suffixes)
    if not found:
        raise InvalidArgumentError(
            f"--inputs got the folder {str(folder)!r}, which has no file ending in "
            f"{', '.join(suffixes)}"
        )
    return found
