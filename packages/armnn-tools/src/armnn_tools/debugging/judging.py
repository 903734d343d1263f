# SPDX-License-Identifier: MIT
"""The judgment of one output: the error, and the bound that rounding explains.

There are three opinions about an output. The truth is computed in float64, the reference in the
layer's own type. Its distance from the truth is the error that the type explains; an output is
wrong if it is farther away than that by a ratio. Below it is a noise floor: one unit in the last
place of the layer's own type times the root of the number of terms that it sums, as rounding errors
of independent signs grow like that. A decision between two numbers is right either way if they are
closer than their own rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from armnn.errors import ArmnnError
from armnn.graph import Layer, Value
from armnn.graph.statistics import multiply_adds_of
from armnn.quantization import quantization_arrays
from armnn.tensor import TensorInfo, format_shape
from armnn.types import BinaryOperation, DataType, ResizeMethod, UnaryOperation
from armnn_tools.debugging.findings import ErrorKind, Figures
from armnn_tools.debugging.reference import Reference, Visit

Array = NDArray[Any]
Reals = NDArray[np.float64]

UNITS = {
    DataType.FLOAT16: 2.0**-10,
    DataType.BFLOAT16: 2.0**-7,
    DataType.FLOAT32: 2.0**-23,
    DataType.FLOAT64: 2.0**-52,
}
"""The distance from 1 to the next number of a type."""

NARROWED_UNIT = UNITS[DataType.BFLOAT16] / 2
"""The error of a product of two numbers that are rounded to BFloat16, as a part of it."""

COMPUTING_UNIT = UNITS[DataType.FLOAT32]
"""The unit of the type that layers with quantized tensors compute in."""


def unit_of(info: TensorInfo) -> float:
    """Return the unit in the last place of 1."""
    return UNITS.get(info.data_type, COMPUTING_UNIT)


def terms_of(layer: Layer) -> int:
    """Return about how many terms make an output element."""
    infos = [info for info in layer.input_infos if info is not None]
    made = max(1, max((_size(info) for info in layer.output_infos), default=1))
    products = multiply_adds_of(layer)
    if products:
        return max(1, products // made)
    if not infos or not infos[0].is_static:
        return 1
    terms = layer.spec.numerics.terms
    if isinstance(terms, int):
        return terms
    if terms is not None:
        return max(1, terms(layer.descriptor, infos[0].static_shape))
    return max(1, _size(infos[0]) // made)


def floor_of(layer: Layer, info: TensorInfo) -> float:
    """Return an output's noise floor, as part of its size."""
    floor, allowed = unit_of(info) * math.sqrt(terms_of(layer)), layer.spec.numerics.allowed
    return floor if allowed is None else max(floor, allowed(layer.descriptor) / LARGEST_RATIO)


def _size(info: TensorInfo) -> int:
    return info.num_elements if info.is_static else 0


LARGEST_RATIO = 5.0
"""How many times the reference's largest error an output's may be."""

RMS_RATIO = 3.0
"""How many times the reference's RMS error an output's may be."""

STEP_ALLOWANCE = 1.0
"""Steps between a right quantized output and the reference: one more rounding."""

BIASED_RMS = 0.45
"""RMS error in steps from which on rounding is wrong; rounding to the nearest has 0.29."""

FEWEST_FOR_RMS = 16
"""Elements from which on the reference's RMS error is an estimate of the noise."""

FEWEST_FOR_BIAS = 64
"""Elements from which on an RMS error in steps says something."""

SUSPICIOUS_UNITS = 64.0
"""Units in the last place between two right networks; more lets stage 2 look at the layers."""

SUSPICIOUS_MEAN_STEPS = 0.25
"""Mean difference in steps from which on a quantized value is suspicious."""


@dataclass(frozen=True, slots=True)
class Opinions:
    """The three values of one output.

    Attributes:
        got: The output, as stored.
        reference: The reference's, as stored.
        truth: Real values in float64; None where the reference's are the only truth.
        allowed: Real values in float64 whose distance from the truth is also allowed, if any:
            computed with narrower operands, or with other roundings between layers.
    """

    got: NDArray[Any]
    reference: NDArray[Any]
    truth: Reals | None = None
    allowed: Reals | None = None


def judge(
    opinions: Opinions,
    info: TensorInfo,
    floor: float,
    *,
    size: float = 0.0,
    propagates_nan: bool = True,
) -> Figures:
    """Judge an output.

    Args:
        opinions: The three values.
        info: The output's type and quantization.
        floor: The noise floor as a part of the output's size.
        size: The size of the sums behind the output, where their terms cancel each other; the
            output's own by default.
        propagates_nan: Whether NaN must stay NaN.
    """
    got, reference = opinions.got, opinions.reference
    if got.shape != reference.shape or got.dtype != reference.dtype:
        shapes = [f"{each.dtype}{format_shape(each.shape)}" for each in (got, reference)]
        return Figures(ErrorKind.SHAPE, np.inf, detail=f"got {shapes[0]}, expected {shapes[1]}")
    if got.size == 0:
        return Figures()
    if info.is_quantized and info.scales:
        return _judge_steps(opinions, info, floor)
    if info.data_type.is_float:
        return _judge_reals(opinions, floor, size, propagates_nan)
    return _judge_exact(got, reference)


def _judge_exact(got: NDArray[Any], reference: NDArray[Any]) -> Figures:
    far = got != reference
    if not far.any():
        return Figures(total=got.size)
    distance = np.abs(got.astype(np.float64) - reference.astype(np.float64))
    return _figures(
        ErrorKind.VALUES, far, got, reference, ratio=np.inf, largest=float(distance.max())
    )


def _judge_reals(opinions: Opinions, floor: float, size: float, propagates_nan: bool) -> Figures:
    got, reference = _wide(opinions.got), _wide(opinions.reference)
    truth = reference if opinions.truth is None else opinions.truth.reshape(got.shape)
    special = _specials(got, reference, truth, propagates_nan)
    if special is not None:
        return special
    usable = np.isfinite(got) & np.isfinite(reference) & np.isfinite(truth)
    if not usable.any():
        return Figures(total=got.size)
    with np.errstate(invalid="ignore"):  # two infinities have no distance, and are not usable
        distances = np.abs(got - truth)
    exact = truth[usable]
    errors, noise = distances[usable], np.abs(reference[usable] - exact)
    if opinions.allowed is not None:
        narrow = np.abs(opinions.allowed.reshape(got.shape)[usable] - exact)
        noise = np.maximum(noise, np.where(np.isfinite(narrow), narrow, 0))
    largest, scale = float(errors.max()), float(np.abs(exact).max())
    tiny = float(np.finfo(np.float32).tiny) if opinions.got.dtype.itemsize <= 4 else 0.0
    allowed = LARGEST_RATIO * (float(noise.max()) + floor * max(scale, size)) + tiny
    allowed_rms = RMS_RATIO * (_rms(noise) + floor * max(_rms(exact), size)) + tiny
    ratios = largest / allowed if allowed else float(largest > 0) * np.inf
    rms_ratio = _rms(errors) / allowed_rms if allowed_rms else float(largest > 0) * np.inf
    if errors.size < FEWEST_FOR_RMS:
        rms_ratio = 0.0
    ratio = float(np.nan_to_num(max(ratios, rms_ratio), nan=0.0, posinf=np.inf))
    unit = scale or 1.0
    return _figures(
        ErrorKind.VALUES if ratio > 1 else ErrorKind.NONE,
        usable & (distances > (allowed if ratios > 1 else allowed_rms)),
        got,
        truth,
        ratio=ratio,
        largest=largest / unit,
        rms=_rms(errors) / unit,
        allowed=allowed / unit,
        cosine=_cosine(got[usable], exact),
        unit="of the largest",
    )


def _specials(got: Reals, reference: Reals, truth: Reals, propagates_nan: bool) -> Figures | None:
    """Return the figures of wrong NaN or infinities, if any."""
    if np.isfinite(got).all() and np.isfinite(reference).all():
        return None
    is_nan, may_be = np.isnan(got), np.isnan(reference)
    wrong_nan = is_nan != may_be if propagates_nan else is_nan & ~may_be
    # A sum near the type's largest number may pass it in another order.
    near = np.abs(np.nan_to_num(truth)) > np.finfo(np.float32).max / 2
    infinite = ~is_nan & ~may_be & (np.isinf(got) | np.isinf(reference))
    wrong_infinity = infinite & (got != reference) & ~near
    for kind, far in ((ErrorKind.NAN, wrong_nan), (ErrorKind.INFINITY, wrong_infinity)):
        if far.any():
            return _figures(kind, far, got, truth, ratio=np.inf)
    return None


def _judge_steps(opinions: Opinions, info: TensorInfo, floor: float) -> Figures:
    got, reference = (_wide(each) for each in (opinions.got, opinions.reference))
    limits = np.iinfo(info.data_type.numpy_dtype)
    exact, clipped = reference, np.zeros(got.shape, bool)
    if opinions.truth is not None:
        exact = _in_steps(opinions.truth, info, reference)
        clipped = (exact < limits.min) | (exact > limits.max)
        exact = np.clip(exact, limits.min, limits.max)
    errors, noise = np.abs(got - exact), np.abs(reference - exact)
    if opinions.allowed is not None:
        allowed_too = np.clip(_in_steps(opinions.allowed, info, exact), limits.min, limits.max)
        noise = np.maximum(noise, np.abs(allowed_too - exact))
    span = float(limits.max) - float(limits.min)
    allowed = max(float(noise.max()), 0.5) + STEP_ALLOWANCE + floor * span
    ratio = float(errors.max()) / allowed
    if got.size >= FEWEST_FOR_BIAS and float(errors.max()) > 0.75:
        worst = max(BIASED_RMS, 1.5 * _rms(noise)) + floor * span
        ratio = max(ratio, _rms(errors) / worst)
    kind = ErrorKind.NONE
    far = errors > allowed
    if ratio > 1:
        far = far if far.any() else errors > 0.75
        kind = ErrorKind.SATURATION if (far & clipped).sum() * 2 > far.sum() else ErrorKind.VALUES
    return _figures(
        kind,
        far,
        got,
        exact,
        ratio=ratio,
        largest=float(errors.max()),
        rms=_rms(errors),
        allowed=allowed,
        cosine=_cosine(got.ravel(), exact.ravel()),
        unit="steps",
    )


def _in_steps(reals: Reals, info: TensorInfo, otherwise: Reals) -> Reals:
    """Return real values as unrounded stored ones.

    Args:
        reals: The values.
        info: Their quantization.
        otherwise: The value in the place of NaN.
    """
    scales, zero_points = quantization_arrays(info)
    steps = reals.reshape(otherwise.shape) / scales.astype(np.float64) + zero_points
    return np.where(np.isnan(steps), otherwise, steps)


def _figures(
    kind: ErrorKind, far: NDArray[np.bool_], got: NDArray[Any], expected: NDArray[Any], **rest: Any
) -> Figures:
    figures = Figures(kind, total=int(got.size), **rest)
    return figures if kind is ErrorKind.NONE else _placed(figures, far, got, expected)


def _placed(
    figures: Figures, far: NDArray[np.bool_], got: NDArray[Any], expected: NDArray[Any]
) -> Figures:
    """Return figures with the first of the wrong elements."""
    places = np.flatnonzero(far)
    if not places.size:
        return figures
    first = tuple(int(each) for each in np.unravel_index(int(places[0]), got.shape))
    return replace(
        figures,
        count=int(places.size),
        first=first,
        got=float(got[first]),
        expected=float(expected[first]),
    )


def _wide(stored: NDArray[Any]) -> Reals:
    return stored.astype(np.float64)


def _rms(values: Reals) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def _cosine(a: Reals, b: Reals) -> float:
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / scale if scale else float(not a.any() and not b.any())


_JUMPING = (
    BinaryOperation.FLOOR_DIV,
    BinaryOperation.FMOD,
    BinaryOperation.MOD,
    UnaryOperation.CEIL,
    UnaryOperation.ROUND,
)
"""Operations of one element or two that jump, after a step that rounds."""


class Ties:
    """One layer's decisions that rounding alone may turn over.

    Args:
        visit: The layer with its clean inputs and outputs.
        reference: Computes the layer of inputs that are two units away.
    """

    def __init__(self, visit: Visit, reference: Reference) -> None:
        self._visit, self._reference = visit, reference
        self._nearby: list[Sequence[Array]] | None = None
        self._squares: Sequence[Array | None] | None = None

    def size_of_sums(self, output: int) -> float:
        """Return the size of sums before their terms cancel.

        It is the largest root of the sum of their squares, 0 where it is not known.
        """
        if self._squares is None:
            visit = self._visit
            self._squares = self._reference.exact(visit.layer, visit.operands, narrowed=np.square)
        squares = self._squares[output]
        return 0.0 if squares is None else float(np.sqrt(np.abs(squares).max(initial=0.0)))

    def explain(self, output: int, got: Array) -> bool:
        """Return whether an output differs by such decisions only."""
        layer = self._visit.layer
        if layer.spec.numerics.picks == output:
            return _picks_equals(self._visit, output, got)
        chooses = layer.spec.numerics.decides
        if not chooses and not _jumps(layer):
            return False
        clean = self._visit.outputs[output].astype(np.float64)
        low, high, moved = clean, clean, False
        for outputs in self._outputs_nearby():
            nearby = outputs[output].astype(np.float64)
            if nearby.shape == clean.shape:
                moved = moved or not np.array_equal(nearby, clean, equal_nan=True)
                low, high = np.minimum(low, nearby), np.maximum(high, nearby)
            else:
                moved = True
        if chooses or not moved or got.shape != clean.shape:
            return moved and chooses
        found = got.astype(np.float64)
        inside = (found >= low) & (found <= high)
        return bool((inside | (np.isnan(found) & np.isnan(clean))).all())

    def _outputs_nearby(self) -> list[Sequence[Array]]:
        if self._nearby is None:
            chooses = self._visit.layer.spec.numerics.decides
            try:
                moves = _DRAWN if chooses else _ALTERNATING
                self._nearby = [self._moved(signs) for signs in moves]
            except ArmnnError:
                self._nearby = []
        return self._nearby

    def _moved(self, signs: Signs) -> Sequence[Array]:
        """Return the outputs of inputs moved by two units."""
        visit = self._visit
        operands = [
            array
            if array is None or value is None or not value.info.data_type.is_float
            else (array * (1 + signs(at, array) * 2 * unit_of(value.info))).astype(array.dtype)
            for at, (array, value) in enumerate(
                zip(visit.operands, visit.layer.inputs, strict=True)
            )
        ]
        return self._reference.own(visit.layer, operands)


Signs = Callable[[int, "Array"], Any]
"""From the number of an input and its data to the directions in which it moves."""


def _alternating(even: int, odd: int) -> Signs:
    return lambda at, _: odd if at % 2 else even


def _drawn(seed: int) -> Signs:
    """Return directions of each element, so that no ratio stays."""
    return lambda at, array: np.random.default_rng((seed, at)).choice((-1, 1), array.shape)


_ALTERNATING = tuple(_alternating(*signs) for signs in ((1, 1), (-1, -1), (1, -1), (-1, 1)))
_DRAWN = tuple(map(_drawn, range(8)))


def _jumps(layer: Layer) -> bool:
    """Return whether a layer's function of one element jumps."""
    if layer.type == "Cast":
        return not layer.outputs[0].info.data_type.is_float
    if layer.type == "Resize":
        return getattr(layer.descriptor, "method", None) is ResizeMethod.NEAREST_NEIGHBOR
    operation = getattr(layer.descriptor, "operation", None)
    return layer.type in ("Floor", "Quantize") or operation in _JUMPING


def _picks_equals(visit: Visit, output: int, got: Array) -> bool:
    """Return whether the elements picked are the reference's."""
    source = visit.operands[0]
    clean = visit.outputs[output]
    if source is None or got.shape != clean.shape:
        return False
    axis = int(getattr(visit.layer.descriptor, "axis", -1))
    if got.ndim < source.ndim:
        got, clean = np.expand_dims(got, axis), np.expand_dims(clean, axis)
    size = source.shape[axis]
    if got.size and (got.min() < -size or got.max() >= size):
        return False
    picked, right = (
        np.take_along_axis(source, each.astype(np.int64), axis) for each in (got, clean)
    )
    return bool(np.array_equal(picked, right, equal_nan=picked.dtype.kind in "f"))


def judged_with_ties(
    ties: Ties,
    value: Value,
    opinions: Opinions,
    floor: float,
    *,
    propagates_nan: bool = True,
    narrows: bool = False,
) -> Figures:
    """Judge a layer's output; its decisions may turn over.

    Args:
        ties: The ties of the layer.
        value: The output.
        opinions: Its three values.
        floor: The noise floor as a part of the output's size.
        propagates_nan: Whether NaN must stay NaN.
        narrows: Whether operands may be rounded to BFloat16.
    """
    layer, info = value.producer, value.info
    figures = judge(opinions, info, floor, propagates_nan=propagates_nan)
    if figures.kind is ErrorKind.VALUES and layer.spec.numerics.linear:
        size = ties.size_of_sums(value.index)
        floor = max(floor, NARROWED_UNIT) if narrows else floor
        figures = judge(opinions, info, floor, size=size, propagates_nan=propagates_nan)
    if figures.kind is ErrorKind.VALUES and (
        (layer.spec.numerics.rounds_inside and figures.largest <= 2)
        or ties.explain(value.index, opinions.got)
    ):
        return Figures(total=figures.total)
    return figures


def is_near(got: NDArray[Any], clean: NDArray[Any], info: TensorInfo) -> bool:
    """Return whether two values differ too little for suspicion."""
    return border_distance(got, clean, info) <= allowed_at_border(info)


def border_distance(got: NDArray[Any], clean: NDArray[Any], info: TensorInfo) -> float:
    """Return two arrays' distance, infinite if not comparable.

    The unit is a part of the largest number, or the mean of steps.
    """
    if got.shape != clean.shape:
        return np.inf
    if not got.size:
        return 0.0
    a, b = _wide(got), _wide(clean)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):  # two infinities have no distance
        distances = np.where(same, 0.0, np.abs(a - b))
    far = float(np.nan_to_num(distances, nan=np.inf).max())
    if not far:
        return 0.0
    if info.is_quantized:
        return max(float(distances.mean()), far - 1)
    if not info.data_type.is_float or not np.isfinite(far):
        return np.inf
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    return far / scale if scale else np.inf


def allowed_at_border(info: TensorInfo) -> float:
    """Return the distance from which on two values at a border are suspicious."""
    if info.is_quantized:
        return SUSPICIOUS_MEAN_STEPS
    return SUSPICIOUS_UNITS * unit_of(info) if info.data_type in UNITS else 0.0


def as_bfloat16(values: Reals) -> Reals:
    """Return numbers rounded to BFloat16."""
    with np.errstate(over="ignore"):  # what is too large for the type is infinite
        rounded: Reals = values.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    return rounded
