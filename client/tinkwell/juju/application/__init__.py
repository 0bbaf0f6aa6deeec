"""Applications: deployed, configured, related, scaled, refreshed and removed."""
