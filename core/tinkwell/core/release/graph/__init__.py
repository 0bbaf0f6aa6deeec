"""The order of an operation's nodes, from the dependencies to the plan."""
