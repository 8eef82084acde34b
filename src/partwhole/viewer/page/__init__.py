"""The interactive page: its server, session and front end."""
