# SPDX-License-Identifier: MIT
"""The results of a run: outputs, best classes and labels.

Outputs are shown as text and as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.errors import InvalidArgumentError
from armnn.quantization import dequantize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo

FULL_LIMIT = 64
"""Elements up to which an output is shown in full."""
FIRST_COUNT = 6
"""Elements of a larger output that are shown."""
ROW_LIMIT = 8
"""Rows of an output whose best classes are shown."""
LABELS_BYTES_LIMIT = 1 << 24


@dataclass(frozen=True, slots=True)
class Labels:
    """The names of classes.

    Attributes:
        names: One per class.
        source: The path of a file, or the words for where else they are from.
    """

    names: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class RankedClass:
    """One of the best classes in a row of output.

    Attributes:
        row: The row, 0 unless the output has several.
        rank: 1 for the best.
        index: Of the class.
        label: Its name, "" if there are no labels.
        score: The value of the output.
    """

    row: int
    rank: int
    index: int
    label: str
    score: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


def real_values(array: NDArray[Any], info: TensorInfo) -> NDArray[Any]:
    """Return an output's real values: quantised data as float32.

    Other data stays as it is.
    """
    return dequantize(array, info) if info.is_quantized and info.scales else array


def best_classes(values: NDArray[Any], count: int, labels: Labels | None) -> list[RankedClass]:
    """Return the highest values along the last axis.

    There is a list for each of the first rows. NaN comes last; of equal values the one with the
    lower index is first.

    Args:
        values: Real numbers, rank 1 or more.
        count: How many per row; fewer if there are fewer classes.
        labels: One name per class.
    """
    rows = values.reshape(-1, values.shape[-1])[:ROW_LIMIT].astype(np.float64)
    # NaN sorts to the end, which is where it belongs.
    order = np.argsort(-rows, axis=1, kind="stable")[:, :count]
    names = labels.names if labels is not None else ("",) * values.shape[-1]
    return [
        RankedClass(row, rank, int(index), names[index], float(rows[row, index]))
        for row, indices in enumerate(order)
        for rank, index in enumerate(indices, 1)
    ]


def read_labels(path: Path) -> Labels:
    """Return the labels in a text file, one a line.

    Raises:
        InvalidArgumentError: The file cannot be read, is no text or is empty.
    """
    try:
        if path.stat().st_size > LABELS_BYTES_LIMIT:
            raise InvalidArgumentError(
                f"the labels {str(path)!r} are {path.stat().st_size} bytes, expected at most "
                f"{LABELS_BYTES_LIMIT}"
            )
        names = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot read the labels {str(path)!r}: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(
            f"the labels {str(path)!r} are no UTF-8 text, expected one label a line"
        ) from error
    if not names:
        raise InvalidArgumentError(f"the labels {str(path)!r} are empty, expected one a line")
    return Labels(tuple(names), str(path))


def labels_in_metadata(metadata: Mapping[str, str], class_counts: Sequence[int]) -> Labels | None:
    """Return a metadata entry with one line per class.

    It is the first such entry, for any of the outputs.

    Args:
        metadata: Of the model.
        class_counts: The sizes of the last axes of its outputs.
    """
    for key, text in metadata.items():
        names = tuple(text.splitlines())
        if len(names) > 1 and len(names) in class_counts:
            return Labels(names, f"the model's metadata entry {key!r}")
    return None


def check_labels(labels: Labels, class_counts: Mapping[str, int]) -> None:
    """Raise InvalidArgumentError unless an output has so many classes.

    As many as there are labels are expected.
    """
    if len(labels.names) not in class_counts.values():
        counts = ", ".join(f"{count} of {name!r}" for name, count in class_counts.items())
        raise InvalidArgumentError(
            f"{labels.source!r} has {len(labels.names)} labels, expected as many as an output has "
            f"classes: {counts or 'no output has any'}"
        )


def class_counts(outputs: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return the last axis's size of each output with classes."""
    return {name: array.shape[-1] for name, array in outputs.items() if array.ndim and array.size}


def summary(values: NDArray[Any]) -> dict[str, Any]:
    """Return an output for JSON; a large one is summarised."""
    plain = _plain(values)
    if plain.size <= FULL_LIMIT:
        return {"values": plain.tolist()}
    found: dict[str, Any] = {}
    finite = plain[np.isfinite(plain)]
    if finite.size:
        found["min"] = finite.min().item()
        found["max"] = finite.max().item()
        found["mean"] = float(finite.mean(dtype=np.float64))
    found["not_finite"] = int(plain.size - finite.size)
    found["first"] = plain.ravel()[:FIRST_COUNT].tolist()
    return found


def written(values: NDArray[Any]) -> str:
    """Return an output as text; a large one is summarised."""
    plain = _plain(values)
    if plain.size <= FULL_LIMIT:
        return np.array2string(plain, separator=" ", precision=6)
    figures = summary(values)
    parts = [f"{key} {figures[key]:.6g}" for key in ("min", "max", "mean") if key in figures]
    if figures["not_finite"]:
        parts.append(f"{figures['not_finite']} NaN or infinite")
    first = np.array2string(plain.ravel()[:FIRST_COUNT], separator=" ", precision=6)
    return f"{', '.join(parts)}, begins with {first[1:-1].strip()}"


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in one of NumPy's own types.

    The other types hold small numbers only.
    """
    if values.dtype.kind in "biuf":
        return values
    return values.astype(np.float32)
