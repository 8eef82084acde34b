"""Compiled kernels on arrays; imported at the point of use only."""
