"""From files as they come to surfaces that can be matched, and back to every vertex."""
