"""The lexer and the parser of Go templates, and the syntax tree."""
