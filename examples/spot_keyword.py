# SPDX-License-Identifier: MIT
"""Hears a keyword in a recording, every 30 ms.

    model=$(python -m tools.models.fetch wake_word_alexa_int8)
    python examples/spot_keyword.py "$model" examples/alexa.wav

The model remembers what it heard in variables, which are inputs and outputs of the same name here;
`bind` keeps them from call to call without a copy.
"""

from __future__ import annotations

import sys
import wave
from collections import deque
from collections.abc import Iterator

import numpy as np

import armnn

RATE, WINDOW, STEP, CHANNELS, FRAMES = 16000, 480, 160, 40, 3
SURE, CALLS = 0.9, 5  # the mean of so many calls must reach this
HANN = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(WINDOW) + 0.5) / WINDOW)
NOISE_SPEED = np.where(np.arange(CHANNELS) % 2, 0.06, 0.025)


def mel_filters() -> np.ndarray:
    """Return triangles over the spectrum, [channels, 257]."""
    hertz = np.array([125, 7500, *np.arange(257) * RATE / 512])
    low, high, *mel = 1127 * np.log1p(hertz / 700)
    width = (high - low) / (CHANNELS + 1)
    centers = low + width * np.arange(1, CHANNELS + 1)[:, np.newaxis]
    triangles: np.ndarray = np.maximum(0, 1 - np.abs(np.array(mel) - centers) / width)
    return triangles


def features_of(samples: np.ndarray) -> Iterator[np.ndarray]:
    """Yield each 10 ms the loudness per channel without noise."""
    filters, noise = mel_filters(), np.zeros(CHANNELS)
    for start in range(0, len(samples) - WINDOW + 1, STEP):
        spectrum = np.abs(np.fft.rfft(samples[start : start + WINDOW] * HANN, 512))
        signal = np.sqrt(filters @ spectrum**2) / 8
        noise += NOISE_SPEED * (signal - noise)
        clean = np.maximum(signal - noise, 0.05 * signal)
        ratio = clean * 2**15 * (8 * noise + 80) ** -0.95
        squeezed = np.where(ratio < 2**13, ratio**2 / 2**20, ratio / 64 - 64)
        yield 2.5 * np.log(np.maximum(8 * squeezed, 1))


def main() -> None:
    """Print when the keyword was heard."""
    with wave.open(sys.argv[2]) as file:
        assert (file.getframerate(), file.getnchannels()) == (RATE, 1), "expected 16 kHz, mono"
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    model = armnn.load_model(sys.argv[1], quantize=True)
    (heard,) = (name for name in model.inputs if name not in model.outputs)
    (sure,) = (name for name in model.outputs if name not in model.inputs)
    frames = np.zeros((1, FRAMES, CHANNELS), np.float32)
    call = model.bind({heard: frames})
    scores: deque[float] = deque(maxlen=CALLS)
    for number, feature in enumerate(features_of(samples)):
        frames[0, number % FRAMES] = feature
        if number % FRAMES == FRAMES - 1:
            scores.append(call()[sure].item())
            if len(scores) == CALLS and np.mean(scores) >= SURE:
                print(f"heard after {(number * STEP + WINDOW) / RATE:.2f} s")
                return
    print("not heard")


if __name__ == "__main__":
    main()
