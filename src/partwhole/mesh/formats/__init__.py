"""One file a format. Each has `decode(data) -> Contents` and `encode(...) -> bytes`, on bytes and arrays alone."""
