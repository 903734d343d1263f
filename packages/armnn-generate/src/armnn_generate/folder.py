# SPDX-License-Identifier: MIT
"""Folders of language models: those of onnxruntime-genai, and Hugging Face's with ONNX files.

What is in a folder comes from strangers: paths stay inside of it, and nothing of it is loaded but
the model, its weights, the tokenizer and texts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from armnn.arguments import file_path, shown
from armnn.errors import InvalidArgumentError, ModelFileError, ModelFileNotFoundError
from armnn.parsing import is_below, resolved_below
from armnn_generate.sampling import Options

GENAI: Final = "genai_config.json"
CONFIG: Final = "config.json"
TOKENIZER: Final = "tokenizer.json"
PREPARED: Final = ".armnn-prepared"
"""The suffix of models that :func:`armnn_generate.compile_folder` wrote."""

_LARGEST_CONFIG: Final = 1 << 24
_LARGEST_TOKENIZER: Final = 1 << 28
_USUAL_MODEL: Final = "model.onnx"
_MODEL_FOLDERS: Final = ("", "onnx")
"""Where the ONNX files are in a folder of Hugging Face's."""

_SAMPLING: Final = ("do_sample", "temperature", "top_k", "top_p", "min_p", "repetition_penalty")
"""The values of both kinds of files that are options here, under the same names."""

_UNSUPPORTED: Final = {
    "num_beams": 1,
    "num_return_sequences": 1,
    "no_repeat_ngram_size": 0,
    "min_length": 0,
    "min_new_tokens": 0,
    "typical_p": 1.0,
    "penalty_alpha": 0.0,
}
"""Unsupported options that would change the text, with the value that turns each off."""

_OTHER_PARTS: Final = ("encoder", "embedding", "speech", "vision")
"""Networks beside the decoder, which models of pictures, sound or translation have."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The description of a model in its folder.

    Attributes:
        path: The folder.
        model: The ONNX file.
        tokenizer: The file of the tokenizer.
        context_length: How many tokens the model takes, prompt and text together.
        stop_tokens: The tokens that end a text.
        options: How text is generated unless the caller says otherwise.
        template: The chat template, "" for none.
        special_tokens: Texts of tokens that the template may use, such as ``bos_token``.
        input_ids: The input of tokens.
        attention_mask: The input that says which tokens there are; the model need not have it.
        position_ids: The input of their positions; the model need not have it.
        logits: The output.
        caches: The names of past and present keys, and of past and present values, with ``%d`` in
            the place of the layer's number.
    """

    path: Path
    model: Path
    tokenizer: Path
    context_length: int
    stop_tokens: tuple[int, ...]
    options: Options
    template: str = ""
    special_tokens: Mapping[str, str] | None = None
    input_ids: str = "input_ids"
    attention_mask: str = "attention_mask"
    position_ids: str = "position_ids"
    logits: str = "logits"
    caches: tuple[tuple[str, str], ...] = (
        ("past_key_values.%d.key", "present.%d.key"),
        ("past_key_values.%d.value", "present.%d.value"),
    )


def read_folder(path: str | os.PathLike[str], file: str | None = None) -> ModelFolder:
    """Read the files of a language model's folder.

    Args:
        path: The folder.
        file: The ONNX file in it, for folders that hold several.

    Raises:
        ModelFileNotFoundError: The folder, or a file in it, is missing.
        ModelFileError: A file cannot be read, or leads out of the folder.
        InvalidArgumentError: The folder asks for what is not supported here, or holds several ONNX
            files, none of which has the usual name.
    """
    folder = Path(file_path(path, "the folder"))
    if not folder.is_dir():
        raise ModelFileNotFoundError(f"there is no folder {str(folder)!r}")
    if (folder / GENAI).exists():
        return _of_genai(folder, file)
    if (folder / CONFIG).exists():
        return _of_hugging_face(folder, file)
    raise ModelFileNotFoundError(
        f"the folder {str(folder)!r} has neither {GENAI}, as onnxruntime-genai's folders have, nor "
        f"{CONFIG}, as Hugging Face's do: give the folder of a language model"
    )


def _of_genai(folder: Path, file: str | None) -> ModelFolder:
    given = _Values(_json(folder, GENAI), folder / GENAI)
    model, search = given.part("model"), given.part("search")
    decoder = model.part("decoder")
    for name in _OTHER_PARTS:
        if model.given.get(name):
            raise model.refused(name, "a model of text alone, which has a decoder only")
    if decoder.given.get("pipeline"):
        raise decoder.refused("pipeline", "a decoder in one file")
    window = decoder.part("sliding_window")
    for name in ("slide_key_value_cache", "slide_inputs"):
        # Windows of attention need nothing: caches hold the whole context here.
        if window.given and window.given.get(name, True):
            raise window.refused(name, "false: its caches and inputs are moved by the runtime")
    _check_session(decoder.part("session_options"))
    inputs, outputs = decoder.part("inputs"), decoder.part("outputs")
    if inputs.given.get("past_names") or outputs.given.get("present_names"):
        raise inputs.refused("past_names", "keys and values in tensors of their own")
    tokenizer, template, special = _tokenizer(folder)
    stop = _stop_tokens(model, "eos_token_id")
    return ModelFolder(
        path=folder,
        model=_inside(folder, file or decoder.text("filename", _USUAL_MODEL)),
        tokenizer=tokenizer,
        context_length=model.count("context_length"),
        stop_tokens=stop,
        options=_options(search),
        template=template,
        special_tokens=special,
        input_ids=inputs.text("input_ids", "input_ids"),
        attention_mask=inputs.text("attention_mask", "attention_mask"),
        position_ids=inputs.text("position_ids", "position_ids"),
        logits=outputs.text("logits", "logits"),
        caches=tuple(
            (
                inputs.text(f"past_{part}_names", f"past_key_values.%d.{part}"),
                outputs.text(f"present_{part}_names", f"present.%d.{part}"),
            )
            for part in ("key", "value")
        ),
    )


def _of_hugging_face(folder: Path, file: str | None) -> ModelFolder:
    config = _Values(_json(folder, CONFIG), folder / CONFIG)
    if config.given.get("is_encoder_decoder"):
        raise config.refused("is_encoder_decoder", "a model that has a decoder only")
    if isinstance(config.given.get("text_config"), dict):
        config = config.part("text_config")
    generation = _Values({}, folder / "generation_config.json")
    if (folder / "generation_config.json").exists():
        generation = _Values(_json(folder, "generation_config.json"), generation.file)
    tokenizer, template, special = _tokenizer(folder)
    stops = generation if "eos_token_id" in generation.given else config
    return ModelFolder(
        path=folder,
        model=_inside(folder, file) if file else _only_model(folder),
        tokenizer=tokenizer,
        context_length=config.count("max_position_embeddings"),
        stop_tokens=_stop_tokens(stops, "eos_token_id"),
        options=_options(generation),
        template=template,
        special_tokens=special,
    )


def _check_session(options: _Values) -> None:
    """Refuse session options that load code or name other devices."""
    if options.given.get("custom_ops_library"):
        raise options.refused(
            "custom_ops_library", "no code: a library of the folder is never loaded"
        )
    for each in options.items("provider_options"):
        for name, value in each.items() if isinstance(each, dict) else [(shown(each), {})]:
            if value or name.lower() != "cpu":
                raise options.refused(
                    "provider_options",
                    f"none: it asks for the provider {name!r} of onnxruntime. Remove it if the "
                    "model is one for the CPU; backends= chooses what runs it here",
                )


def _tokenizer(folder: Path) -> tuple[Path, str, dict[str, str]]:
    """Return the file of the tokenizer, the chat template and special tokens."""
    path = _inside(folder, TOKENIZER)
    _check_size(path, _LARGEST_TOKENIZER)
    name, template = "tokenizer_config.json", ""
    values = _Values(_json(folder, name) if (folder / name).exists() else {}, folder / name)
    found = values.given.get("chat_template")
    if isinstance(found, list):  # one of several: by name
        named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
        found = named.get("default")
    if isinstance(found, str):
        template = found
    if (folder / "chat_template.jinja").exists():
        template = _text(folder, "chat_template.jinja")
    special = {}
    for token, value in values.given.items():
        if token.endswith("_token"):
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str):
                special[token] = text
    return path, template, special


def _only_model(folder: Path) -> Path:
    """Return the ONNX file of a folder: the one of the usual name, else the only one."""
    found = [
        (Path(place) / each.name).as_posix()
        for place in _MODEL_FOLDERS
        for each in sorted((folder / place).glob("*.onnx"))
    ]
    usual = [name for name in found if name.rpartition("/")[2] == _USUAL_MODEL]
    if not found:
        raise ModelFileNotFoundError(
            f"the folder {str(folder)!r} has no ONNX file, neither itself nor in its folder "
            "'onnx': export the model first"
        )
    if len(usual) != 1 and len(found) > 1:
        raise InvalidArgumentError(
            f"the folder {str(folder)!r} has several ONNX files ({', '.join(found)}): expected "
            f"file= (--file of the command), or one {_USUAL_MODEL}"
        )
    return _inside(folder, (usual or found)[0])


def _options(given: _Values) -> Options:
    """Return the options of a folder; an unsupported one is refused."""
    for name, off in _UNSUPPORTED.items():
        if given.given.get(name) not in (None, off):
            raise given.refused(name, f"{off}, as armnn-generate does not support it")
    found = {name: given.given[name] for name in _SAMPLING if given.given.get(name) is not None}
    if found.get("top_p") == 0:  # onnxruntime-genai writes 0 where it is not used
        del found["top_p"]
    if given.given.get("max_length") is not None:
        found["max_length"] = given.given["max_length"]
    if given.given.get("max_new_tokens") is not None:
        found["max_tokens"] = given.given["max_new_tokens"]
    try:
        return Options(**found)
    except InvalidArgumentError as error:
        raise ModelFileError(f"{str(given.file)!r}: {error}") from error


def _stop_tokens(given: _Values, name: str) -> tuple[int, ...]:
    value = given.given.get(name)
    tokens = value if isinstance(value, list) else [] if value is None else [value]
    if not all(type(each) is int and each >= 0 for each in tokens):
        raise given.refused(name, "a token or a list of tokens, as whole numbers")
    return tuple(tokens)


class _Values:
    """An object of a JSON file; errors name the file and where in it something is."""

    def __init__(self, given: Mapping[str, Any], file: Path, place: str = "") -> None:
        self.given, self.file, self.place = given, file, place

    def part(self, name: str) -> _Values:
        """Return an object in this one; an empty one where it is missing."""
        value = self.given.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.refused(name, "an object")
        return _Values(value or {}, self.file, f"{self.place}{name}.")

    def items(self, name: str) -> list[Any]:
        value = self.given.get(name)
        if value is not None and not isinstance(value, list):
            raise self.refused(name, "a list")
        return value or []

    def text(self, name: str, default: str) -> str:
        value = self.given.get(name, default)
        if not isinstance(value, str):
            raise self.refused(name, "a text")
        return value

    def count(self, name: str) -> int:
        value = self.given.get(name)
        if type(value) is not int or not 0 < value < 1 << 31:
            raise self.refused(name, "a whole number from 1 up")
        return value

    def refused(self, name: str, expected: str) -> ModelFileError:
        return ModelFileError(
            f"{self.place}{name} of {str(self.file)!r} is {shown(self.given.get(name))}, "
            f"expected {expected}"
        )


def _json(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in a JSON file of a folder."""
    try:
        found = json.loads(_text(folder, name))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{str(folder / name)!r} is not a valid JSON file: {error}") from error
    if not isinstance(found, dict):
        raise ModelFileError(f"{str(folder / name)!r} holds {shown(found)}, expected an object")
    return found


def _text(folder: Path, name: str) -> str:
    path = _inside(folder, name)
    _check_size(path, _LARGEST_CONFIG)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{str(path)!r} cannot be read: {error}") from error


def _check_size(path: Path, most: int) -> None:
    size = path.stat().st_size
    if size > most:
        raise ModelFileError(f"{str(path)!r} has {size} bytes, expected {most} at most")


def _inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is, or leads, outside of the folder. Links of the cache of Hugging Face
            are followed.
    """
    path = folder / name
    try:
        is_inside, is_file = _is_inside(folder, name), path.is_file()
    except (OSError, UnicodeEncodeError) as error:  # too long, or no text
        raise ModelFileError(
            f"{shown(name)} is not the name of a file in the folder {str(folder)!r}"
        ) from error
    if not is_inside:
        raise ModelFileError(f"{name!r} leads out of the folder {str(folder)!r}")
    if not is_file:
        raise ModelFileNotFoundError(
            f"the folder {str(folder)!r} has no file {name!r}: copy it from where the model is from"
        )
    return path


def _is_inside(folder: Path, name: str) -> bool:
    path, real = folder / name, os.path.realpath(folder)
    parent, file = os.path.split(path)
    if not is_below(name):
        return False
    if resolved_below(real, name):
        return True
    # The cache of Hugging Face has links beside each other.
    place = os.path.realpath(parent)
    is_below_folder = os.path.commonpath([real, place]) == real
    return is_below_folder and bool(resolved_below(place, file, str(path)))
