"""The store of secrets: values that were taken out of documents, sealed by keys that the database never sees."""
