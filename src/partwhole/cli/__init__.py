"""The command line: `partwhole demo | mask | reproduce`, one file a command."""
