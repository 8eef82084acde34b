"""Sets of pairs made from shapes, and folders of pairs."""
