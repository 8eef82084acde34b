"""Pictures of surfaces and of what can be trusted on them, drawn without a display or a GPU."""
