"""What is run for an event or a task: which program of the charm, with which Python, and in which environment."""
