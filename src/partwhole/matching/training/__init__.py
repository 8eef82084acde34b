"""Training and refinement of the network."""
