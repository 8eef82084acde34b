"""Neighbour graphs of point clouds: distances along them, and the boundary."""
