"""Models, which are namespaces, and the controller, which is the server."""
