"""The network and what it sees of a surface, its weights in files, the built-in models."""
