"""The part of Go's template language that Tinkerbell's templates use."""
