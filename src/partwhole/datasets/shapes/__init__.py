"""Surfaces made here: primitives, the Swiss roll, bodies, people."""
