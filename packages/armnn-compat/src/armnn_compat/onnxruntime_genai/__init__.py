# SPDX-License-Identifier: MIT
"""A drop-in for the part of ``onnxruntime_genai`` that generates text.

Use it under its own name, or put it in the place of the other one before that is imported::

    import armnn_compat.onnxruntime_genai

    armnn_compat.onnxruntime_genai.install()
    import onnxruntime_genai  # its models run on armnn from here on

It stands on armnn-generate, which the extra ``genai`` brings.
``docs/coming-from-onnxruntime.md`` says what is there, what has no effect and what is refused.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from types import ModuleType
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.errors import ArmnnError, InvalidArgumentError, NotInstalledError
from armnn.installing import install_command
from armnn_compat.standing_in import AlreadyImportedError, StandIn, withdraw

try:
    import armnn_generate
except ModuleNotFoundError as error:
    if error.name != "armnn_generate":
        raise
    raise NotInstalledError(
        f"armnn_compat.onnxruntime_genai needs armnn-generate: "
        f"{install_command('armnn-compat[genai]')}"
    ) from None

__version__ = "0.18.0"
"""The release of onnxruntime-genai whose names and messages these are."""

_P = ParamSpec("_P")
_T = TypeVar("_T")

_NO_EFFECT: Final = {
    "batch_size": 1,
    "chunk_size": 0,
    "diversity_penalty": 0.0,
    "early_stopping": True,
    "length_penalty": 1.0,
    "past_present_share_buffer": True,
}
"""Options with their defaults that change no text of one beam; a batch has one sequence here."""

_ONE_VALUE: Final = {
    "batch_size": 1,
    "min_length": 0,
    "no_repeat_ngram_size": 0,
    "num_beams": 1,
    "num_return_sequences": 1,
}
"""Options that would change the text, with the value at which they do not."""


class GenaiError(ArmnnError, RuntimeError):
    """The error that onnxruntime-genai raises as RuntimeError."""


def _raising(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function whose errors are RuntimeErrors, as programs expect."""

    @wraps(function)
    def call(*arguments: _P.args, **named: _P.kwargs) -> _T:
        try:
            return function(*arguments, **named)
        except ArmnnError as error:
            if isinstance(error, RuntimeError):
                raise
            raise GenaiError(str(error)) from error

    return call


class Config:
    """The folder of a model, and the backends that run it.

    Args:
        config_path: The folder.
    """

    def __init__(self, config_path: str) -> None:
        self.path = str(config_path)
        self.backends: list[str] = []

    def append_provider(self, name: str) -> None:
        """Add a backend by its id; ``cpu`` is all of them in their usual order."""
        if name.lower() != "cpu":
            self.backends.append(name.removesuffix("ExecutionProvider"))

    def clear_providers(self) -> None:
        """Take all backends in their usual order."""
        self.backends.clear()

    def set_provider_option(self, provider: str, name: str, value: str) -> NoReturn:
        """Refuse: options of providers mean nothing to backends."""
        raise GenaiError(f"the provider {provider!r} has no option {name!r} here (got {value!r})")

    def overlay(self, text: str) -> NoReturn:
        """Refuse: the configuration of the folder is used unchanged."""
        raise GenaiError(f"a configuration cannot be changed here (got {text!r:.80})")


class Model:
    """A language model of a folder.

    Args:
        config: The folder, or a :class:`Config`.
    """

    @_raising
    def __init__(self, config: str | Config) -> None:
        chosen = config if isinstance(config, Config) else Config(config)
        self.generator = armnn_generate.load(chosen.path, chosen.backends or None)
        given = json.loads((self.generator.folder.path / "genai_config.json").read_text())
        self.type = str(given["model"].get("type", ""))
        self.search = dict(given.get("search", {}))

    @property
    def device_type(self) -> str:
        """The device that programs ask for: tensors are the host's, whatever the backends."""
        return "CPU"


class Tokenizer:
    """The tokenizer and the chat template of a model."""

    def __init__(self, model: Model) -> None:
        self._generator = model.generator
        self._adds_special_tokens = False

    @property
    def eos_token_ids(self) -> NDArray[np.int32]:
        """The tokens that end a text."""
        return np.array(self._generator.folder.stop_tokens, np.int32)

    @property
    def bos_token_id(self) -> int:
        """The token that a text begins with."""
        return self._special("bos_token")

    @property
    def pad_token_id(self) -> int:
        """The token that fills up a batch; the one that ends a text where there is no other."""
        return self._special("pad_token" if self._has("pad_token") else "eos_token")

    @_raising
    def update_options(self, **options: Any) -> None:
        """Set ``add_special_tokens``; others are refused."""
        for name, value in options.items():
            if name != "add_special_tokens":
                raise InvalidArgumentError(f"Unknown option: {name}")
            self._adds_special_tokens = str(value).lower() == "true"

    @_raising
    def encode(self, text: str) -> NDArray[np.int32]:
        """Return the tokens of a text."""
        tokenizer, adds = self._generator.tokenizer, self._adds_special_tokens
        return np.array(tokenizer.encode(text, adds_special_tokens=adds), np.int32)

    @_raising
    def decode(self, tokens: ArrayLike) -> str:
        """Return the text of tokens."""
        return self._generator.tokenizer.decode(np.asarray(tokens).reshape(-1).tolist())

    @_raising
    def to_token_id(self, text: str) -> int:
        """Return the token that is written so."""
        token = self._generator.tokenizer.token_of(text)
        if token is None:
            raise InvalidArgumentError(f"there is no token {text!r}")
        return token

    @_raising
    def apply_chat_template(
        self,
        messages: str,
        *,
        template_str: str | None = None,
        tools: str | None = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """Return the text of messages, which are JSON, by the template of the folder or another."""
        try:
            given = json.loads(messages)
            known_tools = None if not tools else json.loads(tools)
        except ValueError as error:
            raise InvalidArgumentError(f"messages or tools are not valid JSON: {error}") from error
        return self._generator.template.render(
            given,
            adds_generation_prompt=add_generation_prompt,
            tools=known_tools,
            template=template_str or None,
        )

    def create_stream(self) -> TokenizerStream:
        """Return a stream that makes text of tokens that come one by one."""
        return TokenizerStream(self._generator.tokenizer)

    def _has(self, name: str) -> bool:
        return name in (self._generator.folder.special_tokens or {})

    @_raising
    def _special(self, name: str) -> int:
        if not self._has(name):
            raise InvalidArgumentError(f"the tokenizer has no {name}")
        return self.to_token_id((self._generator.folder.special_tokens or {})[name])


class TokenizerStream:
    """Text of tokens that come one by one; characters come whole."""

    def __init__(self, tokenizer: armnn_generate.Tokenizer) -> None:
        self._stream = armnn_generate.TextStream(tokenizer)

    @_raising
    def decode(self, token: int) -> str:
        """Return the text that a token completes."""
        return self._stream.add(int(token))


class GeneratorParams:
    """The options of generation; they begin with those of the folder."""

    def __init__(self, model: Model) -> None:
        context = model.generator.folder.context_length
        self._options: dict[str, Any] = {
            "do_sample": False,
            "max_length": context,
            "random_seed": -1,
            "repetition_penalty": 1.0,
            "temperature": 1.0,
            "top_k": 50,
            "top_p": 0.0,
            **_NO_EFFECT,
            **_ONE_VALUE,
            **model.search,
        }

    @_raising
    def set_search_options(self, **options: Any) -> None:
        """Set options; unsupported ones are refused at values other than their defaults."""
        for name, value in options.items():
            if name not in self._options:
                raise InvalidArgumentError(f'Unknown value "{name}"')
            if name in _ONE_VALUE and value != _ONE_VALUE[name]:
                raise InvalidArgumentError(
                    f"{name} is {value!r}: expected {_ONE_VALUE[name]}, the only value supported "
                    "here"
                )
            self._options[name] = value

    def get_search_options(self) -> dict[str, Any]:
        """Return all options."""
        return {
            name: each if isinstance(each, bool) else float(each)
            for name, each in sorted(self._options.items())
        }

    def set_guidance(self, *_: object, **__: object) -> NoReturn:
        """Refuse: no grammar restricts tokens here."""
        raise GenaiError("set_guidance is not supported here")

    def chosen(self) -> armnn_generate.Options:
        """Return the options as armnn-generate takes them."""
        given = self._options
        seed = int(given["random_seed"])
        return armnn_generate.Options(
            do_sample=bool(given["do_sample"]),
            max_length=int(given["max_length"]),
            temperature=float(given["temperature"]),
            top_k=int(given["top_k"]),
            top_p=float(given["top_p"]) or 1.0,
            repetition_penalty=float(given["repetition_penalty"]),
            seed=None if seed < 0 else seed,
        )


class Generator:
    """One sequence of tokens, which grows token by token."""

    @_raising
    def __init__(self, model: Model, params: GeneratorParams) -> None:
        options = params.chosen()
        self._folder = model.generator.folder
        self._most = min(options.max_length or 0, self._folder.context_length)
        self._sampler = armnn_generate.Sampler(options)
        self._cache = model.generator.model.new_cache()
        self._tokens: list[int] = []
        self._next: list[int] = []
        self._logits: NDArray[Any] | None = None
        self._is_stopped = False

    @_raising
    def append_tokens(self, tokens: ArrayLike) -> None:
        """Compute tokens behind those that are there; ``[n]`` or ``[1, n]``."""
        given = np.asarray(tokens)
        if given.ndim > 2 or (given.ndim == 2 and len(given) != 1) or given.dtype.kind not in "iu":
            raise InvalidArgumentError(
                f"the tokens are an array of {given.dtype}{[*given.shape]}, expected whole numbers "
                "in [n] or [1, n]: a batch has one sequence here"
            )
        if len(self._tokens) + given.size > self._most:
            raise InvalidArgumentError(
                f"input_ids size ({given.size}) + current sequence length ({len(self._tokens)}) "
                f"exceeds max length ({self._most})"
            )
        self._tokens += given.reshape(-1).tolist()
        self._is_stopped = False
        self._compute()

    @_raising
    def generate_next_token(self) -> None:
        """Choose a token and put it behind the others; one that ends the text is not put there."""
        if not self._tokens:
            raise InvalidArgumentError(
                "GenerateNextToken called with no prior state. Please call AppendTokens, "
                "SetLogits, or SetInputs before calling GenerateNextToken."
            )
        if len(self._tokens) >= self._most:
            raise InvalidArgumentError(
                f"GenerateNextToken called with sequence length already at max_length "
                f"({self._most})"
            )
        token = self._sampler.choose(self._compute(), self._tokens)
        self._next = [token]
        if token in self._folder.stop_tokens:
            self._is_stopped = True
        else:
            self._tokens.append(token)
            self._logits = None

    def get_next_tokens(self) -> NDArray[np.int32]:
        """Return the token that was chosen last."""
        return np.array(self._next, np.int32)

    def get_sequence(self, index: int) -> NDArray[np.int32]:
        """Return all tokens; the index is 0."""
        if index:
            raise GenaiError(f"there is no sequence {index}: a batch has one here")
        return np.array(self._tokens, np.int32)

    @_raising
    def get_logits(self) -> NDArray[np.float32]:
        """Return the logits behind the last token, in ``[1, 1, words]``."""
        return self._compute()[None, None].astype(np.float32)

    @_raising
    def set_logits(self, logits: ArrayLike) -> None:
        """Let the next token be chosen from these logits."""
        self._compute()  # the tokens, for those that come later
        self._logits = np.array(logits, np.float32).reshape(-1)

    @_raising
    def rewind_to(self, length: int) -> None:
        """Forget all tokens but the first."""
        if not 0 <= length <= len(self._tokens):
            raise InvalidArgumentError(
                "Cannot rewind to a length greater than the current sequence length"
            )
        del self._tokens[length:]
        self._cache.rewind(min(length, len(self._cache.tokens)))
        self._logits, self._is_stopped = None, False

    def is_done(self) -> bool:
        """Return whether the text has ended, or has no room for another token."""
        return self._is_stopped or len(self._tokens) >= self._most

    def token_count(self) -> int:
        """Return how many tokens there are."""
        return len(self._tokens)

    def _compute(self) -> NDArray[Any]:
        """Return the logits behind the last token; compute the tokens that are not yet."""
        there = len(self._cache.tokens)
        if there == len(self._tokens) and self._logits is None:  # after a rewind
            self._cache.rewind(there - 1)
            there -= 1
        if there < len(self._tokens):
            self._logits = self._cache.append(self._tokens[there:])
        assert self._logits is not None
        return self._logits


def _unsupported(name: str) -> type:
    """Return a class of that name that can be imported and not be used."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise GenaiError(f"onnxruntime_genai.{name} is not supported here")

    return type(name, (), {"__init__": refuse, "__doc__": "Cannot be used here."})


Adapters, Engine, MultiModalProcessor, Request = map(
    _unsupported, ("Adapters", "Engine", "MultiModalProcessor", "Request")
)
Audios, Images, NamedTensors, Tensor = map(
    _unsupported, ("Audios", "Images", "NamedTensors", "Tensor")
)


def set_log_options(**_: object) -> None:
    """Do nothing: ``logging.getLogger("armnn")`` logs."""


def is_cuda_available() -> bool:
    """Return False: armnn has no CUDA."""
    return False


is_dml_available = is_openvino_available = is_qnn_available = is_webgpu_available = (
    is_cuda_available
)


def install() -> StandIn:
    """Make ``import onnxruntime_genai`` find this module, until :func:`uninstall`.

    Returns:
        A context manager that takes the names away again when its block ends.

    Raises:
        AlreadyImportedError: onnxruntime_genai itself was imported before.
    """
    return StandIn(_modules())


def uninstall() -> None:
    """Make ``import onnxruntime_genai`` find the other one again; imported modules stay."""
    withdraw(_modules())


def _modules() -> dict[str, ModuleType]:
    here = sys.modules[__name__]
    return {"onnxruntime_genai": here, "onnxruntime_genai.onnxruntime_genai": here}


__all__: Sequence[str] = [
    "AlreadyImportedError",
    "Config",
    "GenaiError",
    "Generator",
    "GeneratorParams",
    "Model",
    "Tokenizer",
    "TokenizerStream",
    "install",
    "uninstall",
]
