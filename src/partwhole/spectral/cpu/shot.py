"""Histograms of SHOT, one vertex after the other."""

from __future__ import annotations

import numpy as np
from numba import prange

from partwhole.store.compute import njit

_AZIMUTHS, _ELEVATIONS, _RADII = 8, 2, 2


@njit(cache=True, nogil=True, parallel=True)
def shot_histograms(points, normals, frames, starts, neighbours, radius, bins):
    """Row i: how the normals around vertex i are turned against its z axis, in 8 × 2 × 2 sectors of the ball around it.

    The neighbours of vertex i are neighbours[starts[i]:starts[i + 1]]; the rows of frames[i] are x, y and z. Each neighbour
    adds 1 in all, shared out linearly among the two nearest bins in each of azimuth, height, distance and cosine.
    """
    n = len(points)
    histograms = np.zeros((n, _AZIMUTHS * _ELEVATIONS * _RADII * (bins + 1)))
    for i in prange(n):
        place = np.empty(4)
        low = np.empty(4, np.int64)
        high = np.empty(4, np.int64)
        share = np.empty(4)
        for k in range(starts[i], starts[i + 1]):
            j = neighbours[k]
            away = points[j] - points[i]
            distance = np.sqrt((away * away).sum())
            if distance == 0.0:
                continue
            x = (frames[i, 0] * away).sum()
            y = (frames[i, 1] * away).sum()
            z = (frames[i, 2] * away).sum()
            cosine = (frames[i, 2] * normals[j]).sum()
            # centres of bins lie at whole numbers
            place[0] = np.arctan2(y, x) / (2 * np.pi) * _AZIMUTHS + _AZIMUTHS - 0.5
            place[1] = np.arccos(min(1.0, max(-1.0, z / distance))) / np.pi * _ELEVATIONS - 0.5
            place[2] = distance / radius * _RADII - 0.5
            place[3] = (1 + min(1.0, max(-1.0, cosine))) / 2 * bins
            counts = (_AZIMUTHS, _ELEVATIONS, _RADII, bins + 1)
            for d in range(4):
                below = int(np.floor(place[d]))
                share[d] = place[d] - below
                if d == 0:
                    low[d], high[d] = below % counts[d], (below + 1) % counts[d]
                else:
                    # beyond the outermost centres all goes to the outermost bin
                    low[d], high[d] = max(below, 0), min(below + 1, counts[d] - 1)
            for corner in range(16):
                weight = 1.0
                index = 0
                for d in range(4):
                    if corner >> d & 1:
                        weight *= share[d]
                        index = index * counts[d] + high[d]
                    else:
                        weight *= 1 - share[d]
                        index = index * counts[d] + low[d]
                histograms[i, index] += weight
    return histograms
