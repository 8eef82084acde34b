"""Many pairs, for the commands that take a folder or a list of them: which ones, and working through them."""
