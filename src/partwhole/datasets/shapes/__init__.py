"""Generated surfaces: primitives, the Swiss roll, bodies, people, things, heads."""
