"""What agents ask for beside events, and what is done for units as long as a server lives."""
