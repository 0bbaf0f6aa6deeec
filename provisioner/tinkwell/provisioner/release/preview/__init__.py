"""Plans for people: what was seen of a release while nothing was changed, and what is held against it later."""
