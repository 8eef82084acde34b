"""Writing files so that none is ever left half-written."""
