"""Pictures drawn without a display or a GPU."""
