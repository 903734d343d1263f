# SPDX-License-Identifier: MIT
"""The options of ``armnn run``: inputs, pictures, outputs."""

from __future__ import annotations

import argparse

from armnn.cli.arguments import divisors, natural_number, number, numbers, positive_number
from armnn.cli.comparing import add_comparing_arguments
from armnn.cli.inputs import InputOptions
from armnn.cli.pictures import PictureOptions
from armnn.cli.profiles import add_profile_arguments
from armnn.cli.resizing import Resize


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _add_input_arguments(parser.add_argument_group("inputs"))
    _add_picture_arguments(parser.add_argument_group("pictures"))
    _add_output_arguments(parser.add_argument_group("outputs"))
    add_comparing_arguments(parser.add_argument_group("comparing"))
    _add_measuring_arguments(parser.add_argument_group("measuring"))


def input_options(arguments: argparse.Namespace) -> InputOptions:
    """Return what the command line says of the inputs.

    Raises:
        InvalidArgumentError: The value of ``--resize`` is malformed.
    """
    pictures = PictureOptions(
        layout=arguments.layout,
        resize=None if arguments.resize is None else Resize.parse(arguments.resize),
        mean=arguments.mean,
        std=arguments.std,
        scale=arguments.scale,
        color=arguments.color,
    )
    return InputOptions(
        arguments.input, arguments.shape, arguments.seed, pictures, arguments.quantize_input
    )


def add_shape_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--shape``."""
    group.add_argument(
        "--shape",
        metavar="NAME=1x3x224x224",
        action="append",
        default=[],
        help="the shape of an input whose dimensions the model leaves open (may be repeated)",
    )


def add_input_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--input``."""
    group.add_argument(
        "--input",
        metavar="NAME=SOURCE",
        action="append",
        default=[],
        help="the data of an input: a .npy, .npz, .png or .jpg file, numbers as in sr=16000 or "
        "axes=0,1, the word random or zeros, or a folder with a file for each set of inputs (may "
        "be repeated; NAME= may be left out if there is one input; what is not given is random)",
    )


def add_quantize_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--quantize-input``."""
    group.add_argument(
        "--quantize-input",
        action="store_true",
        help="take real numbers for quantised inputs, too",
    )


def add_seed_argument(group: argparse._ActionsContainer) -> None:
    """Add ``--seed``."""
    group.add_argument(
        "--seed", type=natural_number, default=0, metavar="N", help="of random data (default: 0)"
    )


def add_data_arguments(group: argparse._ActionsContainer) -> None:
    """Add what says which data a model is measured with."""
    add_input_argument(group)
    add_quantize_argument(group)
    add_shape_argument(group)
    add_seed_argument(group)


def _add_input_arguments(group: argparse._ArgumentGroup) -> None:
    add_input_argument(group)
    add_quantize_argument(group)
    add_shape_argument(group)
    add_seed_argument(group)


def _add_picture_arguments(group: argparse._ArgumentGroup) -> None:
    group.description = (
        "A pixel, 0 to 255, becomes (pixel * scale - mean) / std. What is not given is guessed "
        "from the input's shape and type, and the guess is printed."
    )
    group.add_argument("--layout", choices=("nchw", "nhwc"), help="where the channels are")
    group.add_argument(
        "--resize",
        metavar="WxH|shortest:N[+crop]",
        help="stretch to WxH; or scale the shorter side to N, and cut the input's size out of the "
        "middle (default: stretch to the input's size)",
    )
    group.add_argument(
        "--mean", type=numbers, metavar="M[,M,M]", help="one for all channels, or one each"
    )
    group.add_argument("--std", type=divisors, metavar="S[,S,S]", help="the same")
    group.add_argument(
        "--scale", type=number, metavar="X", help="default: 1/255, none for integer inputs"
    )
    group.add_argument("--color", choices=("rgb", "bgr", "gray"), help="the order of the channels")


def _add_output_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--output",
        metavar="NAME=FILE.npy",
        action="append",
        default=[],
        help="write an output to a file, or of several sets of inputs to files with a number "
        "(may be repeated)",
    )
    group.add_argument(
        "--dequantize-output",
        action="store_true",
        help="write the real values of quantised outputs",
    )
    group.add_argument(
        "--serialize-to",
        metavar="FILE.armnn",
        help="write the model in Arm NN's file format instead of running it",
    )
    group.add_argument(
        "--top-k",
        type=natural_number,
        metavar="N",
        help="show the N best classes (default: 5 if there are labels for them)",
    )
    group.add_argument(
        "--labels", metavar="FILE", help="the names of the classes, one a line (default: from the "
        "model's metadata, if it has them)",
    )  # fmt: skip
    group.add_argument(
        "--no-print-output", action="store_true", help="do not show the outputs' values"
    )
    group.add_argument(
        "--report",
        action="store_true",
        help="show which layers ran on which backend, and why; layers that were compiled together "
        "are one row",
    )
    group.add_argument(
        "--report-all", action="store_true", help="the same with a row for every layer"
    )
    group.add_argument(
        "--times",
        action="store_true",
        help="show what starting, loading and the first run took, stage by stage",
    )
    group.add_argument("--json", action="store_true", help="print everything as one JSON object")


def _add_measuring_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--cache-dir",
        metavar="DIR",
        help="keep the prepared model in a folder that only you may write to, and take it from "
        "there the next time",
    )
    group.add_argument(
        "--iterations",
        type=positive_number,
        default=1,
        metavar="N",
        help="how often to run and measure (default: 1)",
    )
    group.add_argument(
        "--warmup",
        type=natural_number,
        metavar="N",
        help="how often to run before that (default: 1, or 0 with intermediate tensors; with 0, "
        "the first measured run may also prepare a model whose shapes are open)",
    )
    group.add_argument(
        "--concurrent",
        type=positive_number,
        default=1,
        metavar="N",
        help="how many threads run the model at once, each all iterations (default: 1)",
    )
    group.add_argument(
        "--threshold-time",
        type=number,
        metavar="MS",
        help="fail with exit code 1 if a measured run takes more milliseconds",
    )
    group.add_argument(
        "--import-inputs-if-aligned",
        action="store_true",
        help="read the inputs where they are instead of copying them for each run, if their memory "
        "allows it; for one thread without profile",
    )
    add_profile_arguments(group)
