"""Kernels of cutting, compiled by numba; imported at the point of use."""
