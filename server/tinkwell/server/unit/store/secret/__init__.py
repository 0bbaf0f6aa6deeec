"""The SQL of secrets: their metadata, who reads them, and who may."""
