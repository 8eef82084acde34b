"""Everything behind `partwhole reproduce`. The top layer: only the command line imports it."""
