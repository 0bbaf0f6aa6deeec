"""The HTTP side: health, metrics, and phone calls of machines."""
