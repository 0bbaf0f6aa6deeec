"""Secrets in documents and texts: how they are found, extracted, restored and masked."""
