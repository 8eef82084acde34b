"""Every method of the paper's comparison, and how they are compared."""
