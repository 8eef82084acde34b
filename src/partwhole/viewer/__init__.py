"""Pictures of surfaces and of guaranteed distances on them, drawn without a display or a GPU, and an interactive page."""
