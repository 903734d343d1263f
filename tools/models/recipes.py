# SPDX-License-Identifier: MIT
"""Makes models of others: random weights, number formats, quantization."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from tools.models.catalog import Model
from tools.models.random_weights import fill_with_random_weights
from tools.models.tflite_edits import (
    plain_weights,
    with_builtin_transposed_convolutions,
    with_real_weights,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLES = 8
"""How many inputs a quantizer sees."""

Build = Callable[[bytes, Model], bytes]
"""Makes the bytes of the model of those of its source."""


@dataclass(frozen=True)
class Recipe:
    """How a model is made.

    Attributes:
        number: Part of the name of the file; it goes up when the recipe changes.
        build: Makes it.
    """

    number: int
    build: Build


def _random_weights(source: bytes, _: Model) -> bytes:
    return fill_with_random_weights(source)


def _onnx_static(source: bytes, model: Model, *, form: str, kind: str, per_channel: bool) -> bytes:
    """Quantize weights and activations; the activations' ranges come from noise."""
    runtime = importlib.import_module("onnxruntime")
    quantization = importlib.import_module("onnxruntime.quantization")
    samples = iter(_samples({name: model.feed(name).shape or () for name in model.inputs}, model))

    reader: Any = quantization.CalibrationDataReader

    class Noise(reader):  # type: ignore[misc]  # onnxruntime has no types
        def get_next(self) -> Mapping[str, NDArray[Any]] | None:
            return next(samples, None)

    with tempfile.TemporaryDirectory() as folder:
        given, folded, made = (Path(folder, f"{at}.onnx") for at in ("given", "folded", "made"))
        onnx.save(_with_fixed_shapes(source, model), given)
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        # Folds batch normalizations into convolutions, which quantize better so.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(folded)
        runtime.InferenceSession(str(given), options, providers=["CPUExecutionProvider"])
        quantization.quantize_static(
            folded,
            made,
            Noise(),
            quant_format=getattr(quantization.QuantFormat, form),
            per_channel=per_channel,
            activation_type=getattr(quantization.QuantType, kind),
            weight_type=getattr(quantization.QuantType, kind),
        )
        return made.read_bytes()


def _with_fixed_shapes(source: bytes, model: Model) -> onnx.ModelProto:
    """Return the model with the catalog's shapes.

    Its opset has scales per axis.
    """
    given = onnx.load_model_from_string(source)
    for value in given.graph.input:
        sizes = model.feed(value.name).shape or ()
        for dim, size in zip(value.type.tensor_type.shape.dim, sizes, strict=False):
            dim.dim_value = size
    del given.graph.value_info[:]
    if max(entry.version for entry in given.opset_import) < 13:
        given = onnx.version_converter.convert_version(given, 13)
    return given


def _onnx_dynamic(source: bytes, _: Model) -> bytes:
    """Quantize weights; activations are quantized when the model runs."""
    quantization = importlib.import_module("onnxruntime.quantization")
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "given.onnx"), Path(folder, "made.onnx")
        given.write_bytes(source)
        quantization.quantize_dynamic(given, made, weight_type=quantization.QuantType.QInt8)
        return made.read_bytes()


def _tflite_plain(source: bytes, _: Model) -> bytes:
    return plain_weights(source)


def _tflite_builtin(source: bytes, _: Model) -> bytes:
    return with_builtin_transposed_convolutions(source)


def _tflite_real(source: bytes, _: Model) -> bytes:
    return with_real_weights(source)


def _tflite_quantized(source: bytes, model: Model, *, recipe: str) -> bytes:
    """Quantize with a recipe of LiteRT.

    Ranges are from noise where it needs them.
    """
    quantizer = importlib.import_module("litert_quantizer.quantizer")
    recipes = importlib.import_module("litert_quantizer.recipe")
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "given.tflite"), Path(folder, "made.tflite")
        given.write_bytes(plain_weights(source))
        session = quantizer.Quantizer(str(given))
        session.load_quantization_recipe(getattr(recipes, recipe)())
        statistics = None
        if session.need_calibration:
            samples = _samples(_litert_shapes(given), model)
            statistics = session.calibrate({"serving_default": samples})
        session.quantize(statistics).export_model(str(made), overwrite=True)
        return made.read_bytes()


def _litert_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    interpreter = importlib.import_module("ai_edge_litert.interpreter").Interpreter(str(path))
    return {given["name"]: tuple(given["shape"]) for given in interpreter.get_input_details()}


def _samples(
    shapes: Mapping[str, tuple[int, ...]], model: Model
) -> list[dict[str, NDArray[np.float32]]]:
    """Return the catalog's noise by input names."""
    random = np.random.default_rng(0)
    samples = []
    for _ in range(SAMPLES):
        sample = {}
        for name, shape in shapes.items():
            feed = model.feed(name)
            high = 1.0 if feed.high is None else feed.high
            noise = feed.low + (high - feed.low) * random.random(shape, np.float32)
            sample[name] = noise.astype(np.float32)
        samples.append(sample)
    return samples


RECIPES: Mapping[str, Recipe] = {
    "random_weights": Recipe(1, _random_weights),
    "onnx_qdq": Recipe(1, partial(_onnx_static, form="QDQ", kind="QInt8", per_channel=True)),
    "onnx_qlinear": Recipe(
        1, partial(_onnx_static, form="QOperator", kind="QUInt8", per_channel=False)
    ),
    "onnx_dynamic": Recipe(1, _onnx_dynamic),
    "tflite_fp32": Recipe(1, _tflite_plain),
    "tflite_builtin": Recipe(1, _tflite_builtin),
    "tflite_real": Recipe(1, _tflite_real),
    "tflite_int8": Recipe(1, partial(_tflite_quantized, recipe="static_wi8_ai8")),
    "tflite_int16": Recipe(1, partial(_tflite_quantized, recipe="static_wi8_ai16")),
    "tflite_dynamic": Recipe(1, partial(_tflite_quantized, recipe="dynamic_wi8_afp32")),
}
