"""Which distances on a part can be trusted."""
