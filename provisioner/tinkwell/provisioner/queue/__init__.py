"""Queues and retries."""
