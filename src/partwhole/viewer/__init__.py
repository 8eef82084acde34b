"""Pictures of surfaces and of what is known about them."""
