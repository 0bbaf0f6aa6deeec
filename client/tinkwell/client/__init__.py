"""The client library: services, Watch, Informer, errors."""
