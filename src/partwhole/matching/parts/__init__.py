"""Two parts of one whole that is not known: which vertices they share, and how one lies on the other."""
