"""The functions of the template language, with the types of their arguments and results."""
