"""The rules of workflows and their actions."""
