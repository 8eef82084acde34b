"""Training steps on a CUDA device."""
