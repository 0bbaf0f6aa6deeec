"""The language of Go's templates, as far as Tinkerbell's templates use it."""
