"""Rules: how they are written, read and matched."""
