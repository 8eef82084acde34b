"""Kernels for CUDA devices (Triton)."""
