"""Automation: rules in a file that say what is done when something happens, or does not."""
