"""The functions of the template language, and the form in which they take and give values."""
