"""Kernels for the processor (numba)."""
