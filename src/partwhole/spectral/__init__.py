"""Spectral geometry: the Laplacian, its eigenfunctions, signatures, and functional maps between two surfaces."""

from partwhole.spectral.cached import cached_eigenpairs
from partwhole.spectral.eigen import (
    Eigenpairs,
    Gradients,
    Laplacian,
    eigenpairs,
    gradients,
    laplacian,
    spectral_gradients,
)
from partwhole.spectral.functional_maps import (
    ZoomOut,
    functional_map,
    partial_rank,
    vertex_map_from_functional_map,
    zoomout,
)
from partwhole.spectral.kernel_matching import KernelMatch, kernel_matching
from partwhole.spectral.regularised import penalties, regularised_map
from partwhole.spectral.shot import local_frames, shot
from partwhole.spectral.signatures import (
    heat_kernel_signature,
    heat_times,
    wave_energies,
    wave_kernel_signature,
)

__all__ = [
    "Eigenpairs",
    "Gradients",
    "KernelMatch",
    "Laplacian",
    "ZoomOut",
    "cached_eigenpairs",
    "eigenpairs",
    "functional_map",
    "gradients",
    "heat_kernel_signature",
    "heat_times",
    "kernel_matching",
    "laplacian",
    "local_frames",
    "partial_rank",
    "penalties",
    "regularised_map",
    "shot",
    "spectral_gradients",
    "vertex_map_from_functional_map",
    "wave_energies",
    "wave_kernel_signature",
    "zoomout",
]
