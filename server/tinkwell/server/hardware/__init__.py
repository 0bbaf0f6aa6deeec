"""Hardware: the machines that Tinkwell knows."""
