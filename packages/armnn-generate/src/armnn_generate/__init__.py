# SPDX-License-Identifier: MIT
"""Text generation: language models in folders of onnxruntime-genai and of Hugging Face exports.

A folder is loaded as it is, and text comes piece by piece::

    import armnn_generate

    with armnn_generate.load("SmolLM2-135M-Instruct") as generator:
        for text in generator.stream([{"role": "user", "content": "What is a tensor?"}]):
            print(text, end="", flush=True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armnn_generate.comparison import Parting, TextComparison, compare_text
    from armnn_generate.decoder import compile_folder
    from armnn_generate.folder import ModelFolder
    from armnn_generate.generator import Conversation, Generation, Generator, Prompt, load
    from armnn_generate.sampling import Options, Sampler
    from armnn_generate.tokenizer import TextStream, Tokenizer

__all__ = [
    "Conversation",
    "Generation",
    "Generator",
    "ModelFolder",
    "Options",
    "Parting",
    "Prompt",
    "Sampler",
    "TextComparison",
    "TextStream",
    "Tokenizer",
    "compare_text",
    "compile_folder",
    "load",
]

_MODULES = {
    "comparison": "Parting TextComparison compare_text",
    "decoder": "compile_folder",
    "folder": "ModelFolder",
    "generator": "Conversation Generation Generator Prompt load",
    "sampling": "Options Sampler",
    "tokenizer": "TextStream Tokenizer",
}


def __getattr__(name: str) -> Any:
    """Import a module with the first of its names: the process of templates needs none of them."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that are there, imported or not."""
    return sorted({*globals(), *__all__})
