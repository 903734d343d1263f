# SPDX-License-Identifier: MIT
"""What folders say, and what of it is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from armnn.errors import InvalidArgumentError, ModelFileError, ModelFileNotFoundError
from armnn_generate.folder import read_folder
from armnn_generate.sampling import Options
from fakes.decoders import CONTEXT, TEMPLATE, genai_config


def folder_of(path: Path, config: dict[str, Any], name: str = "genai_config.json") -> Path:
    """Return a folder whose model is an empty file."""
    for each in ("model.onnx", "tokenizer.json"):
        (path / each).touch()
    (path / name).write_text(json.dumps(config))
    return path


def test_a_folder_of_genais(genai_folder: Path) -> None:
    found = read_folder(genai_folder)
    assert found.model == genai_folder / "model.onnx"
    assert (found.context_length, found.stop_tokens) == (CONTEXT, (261,))
    assert found.options == Options(max_length=CONTEXT)
    assert found.template == TEMPLATE
    assert found.special_tokens == {"bos_token": "<|begin|>", "eos_token": "<|end|>"}
    assert found.caches[1] == ("past_key_values.%d.value", "present.%d.value")


def test_a_folder_of_hugging_faces(hugging_face_folder: Path) -> None:
    found = read_folder(hugging_face_folder)
    assert found.model == hugging_face_folder / "onnx" / "model.onnx"
    # generation_config.json comes before config.json, whose token is 0.
    assert (found.context_length, found.stop_tokens) == (CONTEXT, (261,))
    assert found.options == Options(temperature=0.7, top_k=20, max_tokens=9)
    assert found.options.is_greedy


def test_values_of_a_search_are_options(tmp_path: Path) -> None:
    config = genai_config(9)
    config["search"] = {"do_sample": True, "top_k": 3, "top_p": 0.0, "temperature": 0.5}
    config["model"]["eos_token_id"] = 4
    found = read_folder(folder_of(tmp_path, config))
    assert found.options == Options(do_sample=True, top_k=3, temperature=0.5)
    assert found.stop_tokens == (4,)


def test_the_template_of_a_file_of_its_own_comes_first(tmp_path: Path) -> None:
    folder_of(tmp_path, genai_config(9))
    named = [{"name": "tools", "template": "b"}, {"name": "default", "template": "a"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert read_folder(tmp_path).template == "a"
    (tmp_path / "chat_template.jinja").write_text("c")
    assert read_folder(tmp_path).template == "c"


def test_one_of_several_files_is_chosen_by_its_name(tmp_path: Path) -> None:
    folder_of(tmp_path, {"max_position_embeddings": 8}, "config.json")
    (tmp_path / "model_q4.onnx").touch()
    assert read_folder(tmp_path).model.name == "model.onnx"
    assert read_folder(tmp_path, "model_q4.onnx").model.name == "model_q4.onnx"
    (tmp_path / "model.onnx").rename(tmp_path / "model_fp16.onnx")
    told = r"several ONNX files \(model_fp16\.onnx, model_q4\.onnx\): expected file="
    with pytest.raises(InvalidArgumentError, match=told):
        read_folder(tmp_path)
    for each in tmp_path.glob("*.onnx"):
        each.unlink()
    with pytest.raises(ModelFileNotFoundError, match="has no ONNX file"):
        read_folder(tmp_path)


@pytest.mark.parametrize("name", ["/etc/passwd", "../model.onnx", "a/../../b", "C:model.onnx", ""])
def test_paths_stay_inside(tmp_path: Path, name: str) -> None:
    (tmp_path / "model.onnx").touch()
    inner = tmp_path / "inner"
    inner.mkdir()
    config = genai_config(9)
    config["model"]["decoder"]["filename"] = name
    with pytest.raises(ModelFileError, match="leads out of the folder"):
        read_folder(folder_of(inner, config))
    config["model"]["decoder"]["filename"] = "model.onnx"
    with pytest.raises(ModelFileError, match="leads out of the folder"):
        read_folder(folder_of(inner, config), name or "../model.onnx")


@pytest.mark.parametrize("name", ["a" * 5000, "\ud800"])
def test_a_name_that_no_file_has_is_named(tmp_path: Path, name: str) -> None:
    config = genai_config(9)
    config["model"]["decoder"]["filename"] = name
    with pytest.raises(ModelFileError, match="is not the name of a file in the folder"):
        read_folder(folder_of(tmp_path, config))


@pytest.mark.parametrize("name", ["genai_config.json", "model.onnx", "tokenizer.json", "deep"])
def test_links_stay_inside(tmp_path: Path, name: str) -> None:
    outside, inner = tmp_path / "outside", tmp_path / "inner"
    outside.mkdir()
    inner.mkdir()
    config = genai_config(9)
    if name == "deep":
        config["model"]["decoder"]["filename"] = "deep/model.onnx"
    folder_of(inner, config)
    folder_of(outside, config)
    (inner / name).unlink(missing_ok=True)
    os.symlink(outside if name == "deep" else outside / name, inner / name)
    with pytest.raises(ModelFileError, match="leads out of the folder"):
        read_folder(inner)


def test_links_of_the_cache_of_hugging_face_are_followed(tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "snapshots" / "abc", tmp_path / "blobs"
    blobs.mkdir()
    (snapshot / "onnx").mkdir(parents=True)
    folder_of(snapshot, {"max_position_embeddings": 8}, "config.json")
    (snapshot / "model.onnx").rename(snapshot / "onnx" / "model.onnx")
    for at, each in enumerate([p for p in snapshot.rglob("*") if p.is_file()]):
        each.rename(blobs / str(at))
        each.symlink_to(os.path.relpath(blobs / str(at), each.parent))
    assert read_folder(snapshot).model == snapshot / "onnx" / "model.onnx"


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("decoder", "session_options", "custom_ops_library"), "ops.so", "a library of the folder"),
        (
            ("decoder", "session_options", "provider_options"),
            [{"cuda": {"enable_cuda_graph": "0"}}],
            "the provider 'cuda'",
        ),
        (("decoder", "session_options", "provider_options"), [{"cpu": {"a": "b"}}], "'cpu'"),
        (("decoder", "session_options", "provider_options"), "cuda", "expected a list"),
        (("decoder", "session_options"), [], "session_options of .* expected an object"),
        (
            ("decoder", "sliding_window"),
            {"window_size": 4},
            "expected false: its caches and inputs",
        ),
        (
            ("decoder", "sliding_window"),
            {"slide_key_value_cache": False, "slide_inputs": True},
            "sliding_window.slide_inputs .* is True, expected false",
        ),
        (("decoder", "pipeline"), [{"embed": {}}], "a decoder in one file"),
        (("decoder", "inputs", "past_names"), "past_%d", "tensors of their own"),
        (("vision",), {"filename": "vision.onnx"}, "a model of text alone"),
        (("context_length",), 0, "context_length of .* is 0, expected a whole number from 1 up"),
        (("context_length",), True, "context_length of .* is True"),
        (("eos_token_id",), "2", "eos_token_id of .* expected a token"),
        (("eos_token_id",), [2, -1], "eos_token_id of .* expected a token"),
        (("decoder", "filename"), 7, "filename of .* is 7, expected a text"),
    ],
)
def test_what_is_not_supported_is_named(
    tmp_path: Path, place: tuple[str, ...], value: Any, told: str
) -> None:
    config = genai_config(9)
    at = config["model"]
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    with pytest.raises(ModelFileError, match=told) as caught:
        read_folder(folder_of(tmp_path, config))
    assert ".".join(("model", *place)) in str(caught.value)


@pytest.mark.parametrize(
    ("search", "told"),
    [
        ({"num_beams": 4}, r"search\.num_beams of .* is 4, expected 1"),
        ({"no_repeat_ngram_size": 2}, "no_repeat_ngram_size"),
        ({"min_length": 5}, "min_length"),
        ({"top_p": 7}, r"genai_config\.json': top_p is 7"),
    ],
)
def test_a_search_that_would_give_another_text_is_refused(
    tmp_path: Path, search: dict[str, Any], told: str
) -> None:
    with pytest.raises(ModelFileError, match=told):
        read_folder(folder_of(tmp_path, {**genai_config(9), "search": search}))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[1]", "holds .*, expected an object"),
        (b"{", "is not a valid JSON file"),
        (b"[" * 100000, "is not a valid JSON file"),
        (b"\xff", "cannot be read"),
    ],
)
def test_a_damaged_configuration_is_named(tmp_path: Path, content: bytes, told: str) -> None:
    folder_of(tmp_path, {})
    (tmp_path / "genai_config.json").write_bytes(content)
    with pytest.raises(ModelFileError, match=told):
        read_folder(tmp_path)


def test_a_huge_configuration_is_not_read(tmp_path: Path) -> None:
    folder_of(tmp_path, {})
    with (tmp_path / "genai_config.json").open("wb") as file:
        file.truncate(1 << 40)  # takes no space
    with pytest.raises(ModelFileError, match="has 1099511627776 bytes, expected 16777216 at most"):
        read_folder(tmp_path)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileNotFoundError, match="there is no folder"):
        read_folder(tmp_path / "none")
    with pytest.raises(ModelFileNotFoundError, match=r"neither genai_config\.json"):
        read_folder(tmp_path)
    folder_of(tmp_path, {"is_encoder_decoder": True}, "config.json")
    with pytest.raises(ModelFileError, match=r"is_encoder_decoder of .* a decoder only"):
        read_folder(tmp_path)
