"""Plans that people read: the findings of an operation that changes nothing, with which a later one is compared."""
