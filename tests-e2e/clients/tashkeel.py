# SPDX-License-Identifier: MIT
"""Adds vowel marks to Arabic text with text2tashkeel.

Two of its models are used.
"""

from __future__ import annotations

import json

from text2tashkeel import Diacritizer

TEXT = "ذهب الولد إلى المدرسة في الصباح الباكر"
print(json.dumps([Diacritizer(name).diacritize(TEXT) for name in ("bilstm-int8", "rawi-v3-int8")]))
