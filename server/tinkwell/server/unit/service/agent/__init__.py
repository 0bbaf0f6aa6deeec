"""The calls of agents besides those about events, and the work for units that goes on as long as a server runs."""
