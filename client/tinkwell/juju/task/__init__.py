"""Commands for tasks: the actions and commands that units run."""
