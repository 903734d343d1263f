# SPDX-License-Identifier: MIT
"""Reads the text in a picture with rapidocr-onnxruntime: ``rapidocr.py PICTURE``."""

from __future__ import annotations

import json
import sys

import numpy as np
from PIL import Image
from rapidocr_onnxruntime import RapidOCR

with Image.open(sys.argv[1]) as picture:
    found, _ = RapidOCR()(np.asarray(picture.convert("RGB")))
print(json.dumps([{"text": text, "score": float(s), "box": box} for box, text, s in found]))
