"""The orientation and scale at which part and whole are matched."""
