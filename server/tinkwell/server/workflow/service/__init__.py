"""The services that carry out requests about workflows."""
