"""What several commands use: the console, options, models, lists of pairs."""
