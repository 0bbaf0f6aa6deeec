"""What a provisioner keeps on disk."""
