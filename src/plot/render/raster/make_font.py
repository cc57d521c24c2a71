"""Writes font.bin beside this file: the outlines of DejaVu Sans that pictures in pixels need.

    pip install fonttools==4.68.0 matplotlib==3.11.2 # which brings the font
    python src/plot/render/raster/make_font.py

Numbers are bytes; lengths are in 160ths of the font size, places shifted by (40, 70). For each letter:
its code (4 bytes, lowest first), its width, the number of its outlines; for each outline the number of
its corners, and their x and y. Curves are cut into straight lines.

The outlines are under the licence in font.LICENSE.
"""

import math
from pathlib import Path

import matplotlib
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont

HERE = Path(__file__).parent
TTF = Path(matplotlib.__file__).parent / "mpl-data/fonts/ttf"
LETTERS = [chr(c) for c in [*range(33, 127), *range(161, 256), *range(0x391, 0x3AA), *range(0x3B1, 0x3CA)] if c not in (173, 0x3A2)]
LETTERS += list(" ⁰⁴⁵⁶⁷⁸⁹⁺⁻₀₁₂₃₄₅₆₇₈₉–—‘’“”…•−√∞∑∏∂∇≈≠≤≥→←↑↓€□")

font = TTFont(TTF / "DejaVuSans.ttf")
glyphs, names = font.getGlyphSet(), font.getBestCmap()
scale = 160 / font["head"].unitsPerEm


def place(x, y):
    at = round(x * scale) + 40, round(y * scale) + 70
    assert all(0 <= number <= 255 for number in at), at
    return at


def outlines(name):
    pen = DecomposingRecordingPen(glyphs)
    glyphs[name].draw(pen)
    found, corners, at = [], [], (0, 0)
    for what, points in pen.value:
        if what == "moveTo":
            corners, at = [place(*points[0])], points[0]
        elif what == "lineTo":
            corners.append(place(*points[0]))
            at = points[0]
        elif what == "qCurveTo":
            controls = list(points[:-1])
            for i, (cx, cy) in enumerate(controls):
                last = i + 1 == len(controls)
                nx, ny = points[-1] if last else ((cx + controls[i + 1][0]) / 2, (cy + controls[i + 1][1]) / 2)
                steps = max(1, min(4, round(math.dist(at, (nx, ny)) * scale / 6)))
                for step in range(1, steps + 1):
                    t = step / steps
                    a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
                    corners.append(place(a * at[0] + b * cx + c * nx, a * at[1] + b * cy + c * ny))
                at = (nx, ny)
        elif what == "closePath":
            corners = [corner for i, corner in enumerate(corners) if corner != corners[i - 1]]
            found.append(corners)
    return found


out = bytearray()
for letter in LETTERS:
    name = names[ord(letter)]
    out += ord(letter).to_bytes(4, "little")
    parts = outlines(name)
    out += bytes([round(font["hmtx"][name][0] * scale), len(parts)])
    for corners in parts:
        out += bytes([len(corners)]) + bytes(number for corner in corners for number in corner)
(HERE / "font.bin").write_bytes(out)
print(len(LETTERS), "letters,", len(out), "bytes")
