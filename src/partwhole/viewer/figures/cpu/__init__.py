"""Compiled drawing kernels, imported at the point of use."""
