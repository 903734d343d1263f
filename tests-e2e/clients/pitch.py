# SPDX-License-Identifier: MIT
"""Detects the pitch of a 220 Hz tone with swift-f0."""

from __future__ import annotations

import json

import numpy as np
from swift_f0 import SwiftF0

time = np.arange(16000) / 16000
tone = 0.4 * np.sin(2 * np.pi * 220 * time) + 0.2 * np.sin(2 * np.pi * 440 * time)
print(json.dumps(SwiftF0().detect(tone.astype(np.float32), 16000).pitch_hz.tolist()))
