"""Parts cut from surfaces, and other triangulations of a surface."""
