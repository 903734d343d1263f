# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers import LAYERS, Descriptor, Inputs, filled_descriptor, infer_outputs, merge_shapes
from armnn.tensor import Dimension, Shape, TensorInfo, info_of
from armnn.types import DataLayout, DataType
from armnn_conformance.cases import LayerCase, cases_of, covered_layers, data_types_of

U8 = TensorInfo((2, 3), DataType.QASYMM_U8, 0.5, 7)
PER_AXIS = TensorInfo((2, 3), DataType.QSYMM_S8, (0.1, 0.2, 0.3), axis=1)


def test_an_output_is_like_its_input(infer):
    assert infer("Activation", [U8]) == (U8,)


def test_a_requested_data_type_has_no_scale_yet(infer):
    (info,) = infer("Activation", [U8], [DataType.QASYMM_S8])
    assert info == TensorInfo((2, 3), DataType.QASYMM_S8)


def test_a_requested_info_is_completed_by_the_inferred_shape(infer):
    wanted = TensorInfo((None, 3), DataType.QASYMM_U8, 0.25, 1)
    assert infer("Activation", [U8], [wanted]) == (wanted.with_shape((2, 3)),)


@pytest.mark.parametrize("shape", [(2, 4), (2, 3, 1), ()])
def test_a_requested_shape_must_be_the_inferred_one(infer, shape):
    with pytest.raises(ShapeError, match=r"'output' is declared with shape .* makes \[2,3\]"):
        infer("Activation", [U8], [TensorInfo(shape)])


def test_an_output_has_one_of_its_data_types(infer):
    assert infer("Comparison", [(2,), (2,)])[0].data_type is DataType.BOOLEAN
    with pytest.raises(ShapeError, match="'output' cannot be Float32: expected one of Boolean"):
        infer("Comparison", [(2,), (2,)], [DataType.FLOAT32])


@pytest.mark.parametrize(
    ("name", "operands"), [("Input", []), ("Constant", []), ("Cast", [(2,)]), ("PreCompiled", [])]
)
def test_a_layer_that_cannot_tell_its_output_wants_it_said(infer, name, operands):
    with pytest.raises(ShapeError, match="do not determine the output 'output': give its Tensor"):
        infer(name, operands)


def test_scales_per_axis_move_with_their_axis(infer):
    moved = TensorInfo((3, 2), DataType.QSYMM_S8, PER_AXIS.scales, axis=0)
    assert infer("Transpose", [PER_AXIS], dim_mappings=(1, 0)) == (moved,)
    assert infer("Permute", [PER_AXIS], dim_mappings=(1, 0)) == (moved,)


def test_permute_and_transpose_move_an_axis_of_scales_in_opposite_senses(infer):
    weights = TensorInfo((2, 3, 4), DataType.QSYMM_S8, (0.1, 0.2), axis=0)
    assert infer("Permute", [weights], dim_mappings=(1, 2, 0))[0].axis == 1
    assert infer("Transpose", [weights], dim_mappings=(1, 2, 0))[0].axis == 2


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("Reshape", {"target_shape": (2, 3)}), ("Debug", {}), ("MemCopy", {}), ("MemImport", {})],
)
def test_scales_per_axis_stay_where_nothing_moves(infer, name, parameters):
    assert infer(name, [PER_AXIS], **parameters) == (PER_AXIS,)


@pytest.mark.parametrize(
    ("name", "operands", "parameters"),
    [
        ("Reshape", [], {"target_shape": (3, 2)}),
        ("ReverseV2", [np.array([1])], {}),
        ("StridedSlice", [], {"begin": (-1,), "end": (-9,), "stride": (-1,)}),
        ("ChannelShuffle", [], {"num_groups": 3, "axis": -1}),
        ("Gather", [np.array([1, 0])], {}),
    ],
)
def test_scales_per_axis_go_where_elements_move(infer, name, operands, parameters):
    (info,) = infer(name, [PER_AXIS, *operands], **parameters)
    assert (info.data_type, info.scales, info.axis) == (DataType.QSYMM_S8, (), None)


def test_shuffling_another_axis_keeps_scales(infer):
    (info,) = infer("ChannelShuffle", [PER_AXIS], num_groups=2, axis=0)
    assert info == PER_AXIS


def test_an_unknown_rank_makes_outputs_of_unknown_rank(infer):
    assert infer("Addition", [TensorInfo(None), (2, 3)]) == (TensorInfo(None),)


def test_a_requested_shape_helps_where_the_rank_is_not_known(infer):
    assert infer("Addition", [TensorInfo(None), (2, 3)], [TensorInfo((4, 3))])[0].shape == (4, 3)


@pytest.mark.parametrize(
    ("said", "inferred", "merged"),
    [
        (None, (2,), (2,)),
        ((2,), None, (2,)),
        (None, None, None),
        ((None, "n", 3), ("m", None, None), ("m", "n", 3)),
        (("n",), (4,), (4,)),
        ((4,), ("n",), (4,)),
    ],
)
def test_what_is_said_and_what_is_inferred_complete_each_other(
    said: Shape | None, inferred: Shape | None, merged: Shape | None
) -> None:
    assert merge_shapes(said, inferred, "output") == merged


def test_known_values_fill_their_fields() -> None:
    spec = LAYERS["StridedSlice"]
    values = [None, np.array([1, 2]), None, np.array([1, -1])]
    infos = [None if value is None else info_of(value) for value in values]
    filled = filled_descriptor(spec, spec.descriptor(end=(5, 6)), infos, values)
    assert filled == spec.descriptor(begin=(1, 2), end=(5, 6), stride=(1, -1))


def test_a_number_fills_a_field_that_takes_one(infer):
    (info,) = infer(
        "Resize", [(1, 2, 4, 4), np.array([8]), np.array(6)], data_layout=DataLayout.NCHW
    )
    assert info.shape == (1, 2, 6, 8)


def test_a_list_does_not_fill_a_field_that_takes_one_number(infer):
    with pytest.raises(ShapeError, match="'target_width' has 2 elements: expected one number"):
        infer("Resize", [(1, 2, 4, 4), np.array([8, 8])], target_height=3)


def test_real_numbers_do_not_fill_a_field_of_integers(infer):
    with pytest.raises(ShapeError, match="'begin' holds float32 numbers: expected integers"):
        infer("StridedSlice", [(4,), np.array([1], np.float32)], end=(3,), stride=(1,))


def test_a_scalar_fills_a_list_of_one() -> None:
    spec = LAYERS["Mean"]
    axis = np.array(1)
    filled = filled_descriptor(spec, spec.descriptor(), [None, info_of(axis)], [None, axis])
    assert filled == spec.descriptor(axis=(1,))


def test_a_value_out_of_range_is_refused(infer):
    with pytest.raises(InvalidArgumentError, match=r"'multiples' is .*expected at least 0"):
        infer("Tile", [(2,), np.array([-1])])


def test_a_missing_input_is_named(infer):
    for operands in ([(2, 3), None], [(2, 3)]):
        with pytest.raises(ShapeError, match="the input 'indices' is missing"):
            infer("Gather", operands)


def test_a_shape_function_is_not_asked_about_unknown_ranks():
    inputs = Inputs(LAYERS["Floor"], (TensorInfo(None),), (None,))
    with pytest.raises(ShapeError, match="the rank of the input 'input' is not known"):
        inputs.shape("input")


Sample = tuple[Descriptor, list[TensorInfo | None], list[NDArray[Any] | None]]
"""A layer's parameters, infos and known values."""

WITHOUT_KERNEL = [
    ("Merge", [TensorInfo((2, 3)), TensorInfo((2, 3))]),
    ("Switch", [TensorInfo((2, 3)), TensorInfo(())]),
]
"""Layers without cases in the conformance kit, as no backend computes them."""


SAMPLES = 3
"""How many cases are taken of a layer: those with other parameters."""


def samples_of(name: str) -> list[tuple[LayerCase, Sample]]:
    """Return some cases of the conformance kit, with the values that shapes depend on."""
    spec = LAYERS[name]
    found: dict[object, tuple[LayerCase, Sample]] = {}
    for case in cases_of(name, data_types_of(name)[0]):
        shapes = tuple(None if each is None else each.info.shape for each in case.inputs)
        if (case.descriptor, len(shapes)) in found or len(found) == SAMPLES:
            continue
        infos = [None if each is None else each.info for each in case.inputs]
        values = [
            each.stored if each is not None and spec.input_slot(place).shapes_output else None
            for place, each in enumerate(case.inputs)
        ]
        found[case.descriptor, len(shapes)] = case, (case.descriptor, infos, values)
    return list(found.values())


SAMPLED = [(name, case, each) for name in covered_layers() for case, each in samples_of(name)]


def filled_by_inputs(name: str, sample: Sample) -> Sample:
    """Return the sample with inputs in the place of the fields that they can fill."""
    spec, (descriptor, infos, values) = LAYERS[name], sample
    infos, values = infos[:], values[:]
    infos += [None] * (len(spec.inputs) - len(infos))
    values += [None] * (len(spec.inputs) - len(values))
    defaults = {field.name: field.default for field in dataclasses.fields(spec.descriptor)}
    for place, each in enumerate(spec.inputs):
        if each.fills is None:
            continue
        value = np.array(getattr(descriptor, each.fills))
        value = value if value.size else value.astype(np.int64)
        try:
            descriptor = dataclasses.replace(descriptor, **{each.fills: defaults[each.fills]})
        except InvalidArgumentError:
            continue  # another parameter needs it
        infos[place], values[place] = info_of(value), value
    return descriptor, infos, values


def inferred(name: str, sample: Sample, outputs: Sequence[TensorInfo]) -> tuple[TensorInfo, ...]:
    """Return the infos of the outputs; a type is said where the inputs do not tell it."""
    spec, (descriptor, infos, values) = LAYERS[name], sample
    requested = [
        None if slot.like or slot.data_types else outputs[place].data_type
        for place, slot in enumerate(spec.output_slots(descriptor))
    ]
    return infer_outputs(spec, descriptor, infos, values, requested)


@pytest.mark.parametrize(("name", "case", "sample"), SAMPLED, ids=str)
def test_what_is_inferred_is_what_the_definition_makes(
    name: str, case: LayerCase, sample: Sample
) -> None:
    made = inferred(name, sample, case.outputs)
    for info, array in zip(made, case.expected, strict=True):
        assert info.accepts(array.shape), f"{info}, expected {array.shape}"
    spec, (descriptor, infos, values) = LAYERS[name], sample
    assert all(info.is_static for info in made) is not spec.data_dependent
    if any(value is not None for value in values):
        unread = inferred(name, (descriptor, infos, [None] * len(values)), case.outputs)
        assert not all(info.is_static for info in unread)
    if spec.has_filling:
        assert inferred(name, filled_by_inputs(name, sample), case.outputs) == made


@pytest.mark.parametrize(
    ("name", "outputs", "sample"),
    [
        *((name, case.outputs, sample) for name, case, sample in SAMPLED),
        *(
            (name, (), (LAYERS[name].descriptor(), infos, [None] * 2))
            for name, infos in WITHOUT_KERNEL
        ),
    ],
    ids=str,
)
def test_what_is_inferred_of_less_agrees_with_what_is_inferred_of_all(
    name: str, outputs: Sequence[TensorInfo], sample: Sample
) -> None:
    source = random.Random(0)
    for form in (sample, filled_by_inputs(name, sample))[: 1 + LAYERS[name].has_filling]:
        descriptor, infos, values = form
        exact = inferred(name, form, outputs)
        for chance in (1.0, *[0.5] * 4):  # of being hidden
            shown = [value if source.random() >= chance else None for value in values]
            hidden = [
                info if info is None or value is not None else _hidden(info, source, chance)
                for info, value in zip(infos, values, strict=True)
            ]
            loose = inferred(name, (descriptor, hidden, shown), outputs)
            for of_all, of_less in zip(exact, loose, strict=True):
                assert of_less.data_type is of_all.data_type
                assert _agrees(of_less.shape, of_all.shape), f"{of_less} of {of_all}"


def _hidden(info: TensorInfo, source: random.Random, chance: float) -> TensorInfo:
    """Hide some dimensions, or their size behind a name.

    The name tells the size here.
    """
    return info.with_shape(
        source.choice((None, f"size{dim}")) if source.random() < chance else dim
        for dim in info.static_shape
    )


def _agrees(loose: Shape | None, exact: Shape | None) -> bool:
    if loose is None:
        return True
    assert exact is not None
    return len(loose) == len(exact) and all(map(_dimension_agrees, loose, exact))


def _dimension_agrees(loose: Dimension, exact: Dimension) -> bool:
    if loose is None or loose == exact:
        return True
    return isinstance(loose, str) and loose == f"size{exact}"
