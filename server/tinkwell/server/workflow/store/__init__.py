"""The SQL of workflows."""
