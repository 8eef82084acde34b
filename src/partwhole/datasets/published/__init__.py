"""Readers of the published data sets."""
