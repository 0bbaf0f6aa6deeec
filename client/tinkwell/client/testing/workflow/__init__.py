"""The WorkflowService of the fake server."""
