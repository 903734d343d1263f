# SPDX-License-Identifier: MIT
"""Finds speech with silero-vad: ``silero.py CLIP MODE``.

A mode is one of ``load_silero_vad``.
"""

from __future__ import annotations

import json
import sys
import wave

import numpy as np
from silero_vad import get_speech_timestamps, get_speech_timestamps_sequence, load_silero_vad

with wave.open(sys.argv[1]) as clip:
    rate, samples = clip.getframerate(), clip.readframes(clip.getnframes())
audio = np.frombuffer(samples, np.int16).astype(np.float32) / 32768
if sys.argv[2] == "sequence":
    found = get_speech_timestamps_sequence(audio, load_silero_vad(sequence=True))
else:
    model = load_silero_vad(onnx=True, opset_version=int(sys.argv[2]))
    found = get_speech_timestamps(audio, model, sampling_rate=rate)
print(json.dumps([[each["start"], each["end"]] for each in found]))
