"""Checks and formats that all resources share: text, numbers, documents, images, YAML."""
