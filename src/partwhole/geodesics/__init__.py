"""Distances on surfaces."""
