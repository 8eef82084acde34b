"""The command line: `partwhole demo | mask | dataset | train | evaluate | reproduce`, one file a command."""
