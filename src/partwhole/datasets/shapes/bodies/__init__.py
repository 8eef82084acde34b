"""Articulated bodies: skeleton, smooth skin, random proportions and poses."""

from partwhole.datasets.shapes.bodies.body import Body, make_body

__all__ = ["Body", "make_body"]
