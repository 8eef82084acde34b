"""Training beyond one matrix and one process: losses from samples, distances between some vertices, shared steps."""
