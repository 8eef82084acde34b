"""Slow ways to what matching computes fast: definitions and plain loops, sharing no code with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.linalg import expm


def diffused(x: np.ndarray, times: np.ndarray, laplacian: Any) -> np.ndarray:
    """exp(−t A⁻¹ L) x, channel by channel, by a matrix exponential."""
    generator = laplacian.stiffness.toarray() / laplacian.mass[:, None]
    return np.stack([expm(-t * generator) @ column for t, column in zip(times, x.T, strict=True)], axis=1)


def gradient_features(gx: torch.Tensor, gy: torch.Tensor, real: torch.Tensor, imaginary: torch.Tensor) -> torch.Tensor:
    """tanh Re(z̄ ⊙ A z), in complex numbers."""
    z, A = torch.complex(gx, gy), torch.complex(real, imaginary)
    return torch.tanh((z.conj() * torch.einsum("dc,nc->nd", A, z)).real)


def gradient_features_of_the_research_copy(
    gx: torch.Tensor, gy: torch.Tensor, real: torch.Tensor, imaginary: torch.Tensor
) -> torch.Tensor:
    """As in much published code: what should be Im(A z) takes the real part of z a second time."""
    of_real = gx @ real.T - gy @ imaginary.T
    of_imaginary = gx @ real.T + gy @ imaginary.T
    return torch.tanh(gx * of_real + gy * of_imaginary)


def distortion(P: np.ndarray, D_part: np.ndarray, D_whole: np.ndarray, W: np.ndarray) -> float:
    """Σ_ij W_ij (Σ_ab P_ia D_ab P_jb − D_ij)², term by term."""
    total = 0.0
    for i in range(len(P)):
        for j in range(len(P)):
            mapped = sum(P[i, a] * D_whole[a, b] * P[j, b] for a in range(len(D_whole)) for b in range(len(D_whole)))
            total += W[i, j] * (mapped - D_part[i, j]) ** 2
    return total


def naive_distortion(P: torch.Tensor, D_part: torch.Tensor, D_whole: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    """The same in three operations that torch differentiates by itself."""
    return (W * (P @ D_whole @ P.T - D_part) ** 2).sum()


def masked_distortion(
    P: torch.Tensor, D_part: torch.Tensor, D_whole: torch.Tensor, W: torch.Tensor, M_whole: torch.Tensor
) -> torch.Tensor:
    """The same, where a pair counts as much as the whole's mask at its images, too; the mask is not differentiated."""
    at_images = torch.einsum("ia,ab,jb->ij", P.detach(), M_whole, P.detach())
    return naive_distortion(P, D_part, D_whole, W * at_images)


def nearest_rows(queries: np.ndarray, points: np.ndarray) -> np.ndarray:
    """argmin_j |q_i − p_j|."""
    return np.array([np.argmin([np.sum((q - p) ** 2) for p in points]) for q in queries])
