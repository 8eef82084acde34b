"""Training and testing of networks for the paper's tables: `reproduce pfaust`, `shrec16` and `ablation`."""
