"""Shapes to work on: made here, cut from wholes, or read from published collections."""
