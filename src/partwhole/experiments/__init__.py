"""Everything behind `partwhole reproduce`, which computes the paper's tables and figures again.

`reproduce` is the group of commands; `consistent_pairs`, `swiss_roll` and `figures` are a command each, and `matching`
holds those that train networks. The top layer: only the command line imports it.
"""
