"""All that is known of a unit, or of an application."""
