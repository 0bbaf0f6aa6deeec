"""The database: connections, transactions, the schema and its readiness."""
