"""Reaching a CUDA device, or saying in one line why it can't be reached."""

from __future__ import annotations

from types import ModuleType

from partwhole.store.extras import how_to_install


def check_device(device: object) -> None:
    """Raise ValueError, with the remedy, unless tensors can go there."""
    if device == "cuda":
        cuda_modules()
    elif device != "cpu":
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")


def cuda_modules() -> tuple[ModuleType, ModuleType]:
    """(torch, triton), or a ValueError with the remedy."""
    try:
        import torch
    except ImportError:
        raise ValueError(f"device='cuda' needs torch: {how_to_install('torch')}; or use device='cpu'") from None
    if not torch.cuda.is_available():
        raise ValueError("device='cuda' needs a CUDA device, and torch sees none here; use device='cpu'")
    try:
        import triton
    except ImportError:
        raise ValueError("device='cuda' needs triton, which comes with torch's CUDA builds; use device='cpu'") from None
    return torch, triton
