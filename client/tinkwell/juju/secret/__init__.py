"""Commands for secrets: those of users can be changed, all can be listed."""
