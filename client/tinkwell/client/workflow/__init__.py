"""The client of workflows, their actions and their output."""
