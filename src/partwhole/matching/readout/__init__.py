"""From features to a map: soft, hard, spectral, ZoomOut, lateration, registration."""
