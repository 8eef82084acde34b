"""Drawing kernels: triangles, lines and balls into a depth buffer. Plain loops, compiled; imported at the point of use.

Everything is in pixels of the (supersampled) picture, x to the right and y down, with the centre of pixel (row, column)
at (column + ½, row + ½). Nearness is 1/depth: it is linear across a projected triangle, where depth is not, and larger
is nearer. Pixels are visited in a fixed order, so pictures are the same on every run.
"""

from __future__ import annotations

import numpy as np

from partwhole.store.compute import njit


@njit(cache=True, nogil=True)
def rasterise(
    corners: np.ndarray, faces: np.ndarray, near: np.ndarray, face_at: np.ndarray, weights_at: np.ndarray
) -> None:
    """Write, for every pixel, the nearest face there and the (perspective-correct) weights of its corners 1 and 2.

    corners (n, 3): x, y, nearness. near (h, w) must be 0 and face_at −1 where nothing has been drawn.
    """
    height, width = near.shape
    for f in range(faces.shape[0]):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        xi, yi, ni = corners[i, 0], corners[i, 1], corners[i, 2]
        xj, yj, nj = corners[j, 0], corners[j, 1], corners[j, 2]
        xk, yk, nk = corners[k, 0], corners[k, 1], corners[k, 2]
        doubled_area = (xj - xi) * (yk - yi) - (xk - xi) * (yj - yi)
        if doubled_area == 0.0:
            continue
        left = max(int(np.ceil(min(xi, xj, xk) - 0.5)), 0)
        right = min(int(np.floor(max(xi, xj, xk) - 0.5)), width - 1)
        top = max(int(np.ceil(min(yi, yj, yk) - 0.5)), 0)
        bottom = min(int(np.floor(max(yi, yj, yk) - 0.5)), height - 1)
        for row in range(top, bottom + 1):
            y = row + 0.5
            for column in range(left, right + 1):
                x = column + 0.5
                a = ((xj - x) * (yk - y) - (xk - x) * (yj - y)) / doubled_area
                b = ((xk - x) * (yi - y) - (xi - x) * (yk - y)) / doubled_area
                # not 1 − a − b: two faces must classify a pixel on their common edge by numbers that differ in sign only,
                # or rounding opens cracks between them
                c = ((xi - x) * (yj - y) - (xj - x) * (yi - y)) / doubled_area
                if a < 0.0 or b < 0.0 or c < 0.0:
                    continue
                nearness = a * ni + b * nj + c * nk
                if nearness > near[row, column]:
                    near[row, column] = nearness
                    face_at[row, column] = f
                    weights_at[row, column, 0] = b * nj / nearness
                    weights_at[row, column, 1] = c * nk / nearness


@njit(cache=True, nogil=True)
def shade(
    picture: np.ndarray,
    face_at: np.ndarray,
    weights_at: np.ndarray,
    corners: np.ndarray,
    faces: np.ndarray,
    normals: np.ndarray,
    vertex_colors: np.ndarray,
    face_colors: np.ndarray,
    vertex_values: np.ndarray,
    table: np.ndarray,
    inside_tint: np.ndarray,
    flip: bool,
) -> None:
    """Light every covered pixel of `picture` (h, w, 4), by normals (n, 3) in the frame of the picture (right, up, eye).

    The first of vertex_colors (n, 3), face_colors (m, 3), vertex_values (n,) that isn't empty gives the colour; values,
    from 0 to 1, are looked up in `table` (t, 3) after they were interpolated, so that contours are sharp. Where the
    back of the surface is seen the colour is mixed with `inside_tint`; `flip` says that the faces wind inwards.
    """
    height, width = face_at.shape
    color = np.empty(3)
    n = np.empty(3)
    for row in range(height):
        for column in range(width):
            f = face_at[row, column]
            if f < 0:
                continue
            i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
            b, c = weights_at[row, column, 0], weights_at[row, column, 1]
            a = 1.0 - b - c
            if vertex_colors.shape[0] > 0:
                for channel in range(3):
                    color[channel] = (
                        a * vertex_colors[i, channel] + b * vertex_colors[j, channel] + c * vertex_colors[k, channel]
                    )
            elif face_colors.shape[0] > 0:
                for channel in range(3):
                    color[channel] = face_colors[f, channel]
            else:
                value = a * vertex_values[i] + b * vertex_values[j] + c * vertex_values[k]
                entry = min(max(int(value * table.shape[0]), 0), table.shape[0] - 1)
                for channel in range(3):
                    color[channel] = table[entry, channel]
            for channel in range(3):
                n[channel] = a * normals[i, channel] + b * normals[j, channel] + c * normals[k, channel]
            winding = (corners[j, 0] - corners[i, 0]) * (corners[k, 1] - corners[i, 1]) - (
                corners[k, 0] - corners[i, 0]
            ) * (corners[j, 1] - corners[i, 1])
            # y points down in pixels, so a face seen from its front turns clockwise there
            back = (winding > 0.0) != flip
            if back != flip:
                for channel in range(3):
                    n[channel] = -n[channel]
            length = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
            if length > 0.0:
                for channel in range(3):
                    n[channel] /= length
            else:
                n[2] = 1.0
            head = max(n[2], 0.0)
            key = max(-0.41 * n[0] + 0.50 * n[1] + 0.76 * n[2], 0.0)
            fill = max(0.80 * n[0] + 0.05 * n[1] + 0.60 * n[2], 0.0)
            light = 0.48 + 0.06 * n[1] + 0.26 * head + 0.26 * key + 0.06 * fill
            # the glint of the key light, seen along the bisector of light and eye
            glint = max(-0.22 * n[0] + 0.27 * n[1] + 0.94 * n[2], 0.0)
            gloss = 0.0 if back else 0.10 * glint**24
            for channel in range(3):
                base = color[channel]
                if back:
                    base = 0.35 * base + 0.65 * inside_tint[channel]
                picture[row, column, channel] = min(base * light + gloss, 1.0)
            picture[row, column, 3] = 1.0


@njit(cache=True, nogil=True)
def outline(picture: np.ndarray, near: np.ndarray, reach: int, step: float, strength: float) -> None:
    """Darken pixels within `reach` of something that lies farther by more than `step`: silhouettes."""
    height, width = near.shape
    for row in range(height):
        for column in range(width):
            if near[row, column] == 0.0:
                continue
            limit = 1.0 / (1.0 / near[row, column] + step)
            edge = False
            for d in range(1, reach + 1):
                edge = (
                    edge
                    or (row >= d and near[row - d, column] < limit)
                    or (row + d < height and near[row + d, column] < limit)
                    or (column >= d and near[row, column - d] < limit)
                    or (column + d < width and near[row, column + d] < limit)
                )
            if edge:
                for channel in range(3):
                    picture[row, column, channel] *= 1.0 - strength


@njit(cache=True, nogil=True)
def draw_segments(
    picture: np.ndarray, near: np.ndarray, ends: np.ndarray, color: np.ndarray, half_width: float, bias: float
) -> None:
    """Draw segments (s, 2, 3), as x, y, nearness of both ends, with round caps, where nothing is nearer.

    `bias` moves them towards the eye, in units of depth: lines that lie in the surface are not hidden by it.
    """
    height, width = near.shape
    for s in range(ends.shape[0]):
        x0, y0, n0 = ends[s, 0, 0], ends[s, 0, 1], ends[s, 0, 2]
        x1, y1, n1 = ends[s, 1, 0], ends[s, 1, 1], ends[s, 1, 2]
        dx, dy = x1 - x0, y1 - y0
        squared = dx * dx + dy * dy
        left = max(int(np.floor(min(x0, x1) - half_width)), 0)
        right = min(int(np.ceil(max(x0, x1) + half_width)), width - 1)
        top = max(int(np.floor(min(y0, y1) - half_width)), 0)
        bottom = min(int(np.ceil(max(y0, y1) + half_width)), height - 1)
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                x, y = column + 0.5 - x0, row + 0.5 - y0
                t = 0.0
                if squared > 0.0:
                    t = min(max((x * dx + y * dy) / squared, 0.0), 1.0)
                ex, ey = x - t * dx, y - t * dy
                if ex * ex + ey * ey > half_width * half_width:
                    continue
                depth = 1.0 / ((1.0 - t) * n0 + t * n1) - bias
                if 1.0 / depth > near[row, column]:
                    # the depth stays that of the surface, so that lines do not hide each other by their bias
                    for channel in range(3):
                        picture[row, column, channel] = color[channel]
                    picture[row, column, 3] = 1.0


@njit(cache=True, nogil=True)
def draw_balls(
    picture: np.ndarray,
    near: np.ndarray,
    centres: np.ndarray,
    color: np.ndarray,
    radius: float,
    scale: float,
    bias: float,
) -> None:
    """Draw shaded balls at centres (p, 3), as x, y, nearness; `radius` in pixels, `scale` pixels to a unit of depth."""
    height, width = near.shape
    for p in range(centres.shape[0]):
        x0, y0, depth0 = centres[p, 0], centres[p, 1], 1.0 / centres[p, 2]
        for row in range(max(int(y0 - radius) - 1, 0), min(int(y0 + radius) + 2, height)):
            for column in range(max(int(x0 - radius) - 1, 0), min(int(x0 + radius) + 2, width)):
                x, y = (column + 0.5 - x0) / radius, (row + 0.5 - y0) / radius
                if x * x + y * y > 1.0:
                    continue
                z = np.sqrt(1.0 - x * x - y * y)
                nearness = 1.0 / (depth0 - z * radius / scale - bias)
                if nearness <= near[row, column]:
                    continue
                near[row, column] = nearness
                light = 0.45 + 0.55 * max(-0.41 * x - 0.50 * y + 0.76 * z, 0.0)
                gloss = 0.45 * max(-0.22 * x - 0.27 * y + 0.94 * z, 0.0) ** 40
                # a dark edge sets the ball off against a surface of any colour
                edge = 0.45 if z < 0.45 else 1.0
                for channel in range(3):
                    picture[row, column, channel] = min(color[channel] * light * edge + gloss, 1.0)
                picture[row, column, 3] = 1.0
