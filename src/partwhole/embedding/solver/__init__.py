"""Weighted multidimensional scaling: stress and its minimisation."""
