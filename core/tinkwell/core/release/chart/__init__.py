"""Charts: what is packed, what it means together with values, and in which order its subcharts are installed."""
