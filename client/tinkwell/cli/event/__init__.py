"""`tinkwell events`, and the `watch` of every resource."""
