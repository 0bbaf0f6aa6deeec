"""The command-line flags by which a user gives values to a chart; `user_values` merges them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: its key in the argument of `user_values.unite`, its option names, and its help text."""

    key: str
    options: tuple[str, ...]
    metavar: str
    help: str


FILES = Flag("values", ("-f", "--values"), "FILE|-", "A file of values; later files override former ones.")
JSON = Flag("set_json", ("--set-json",), "KEY=JSON", "A value as JSON, or one object of values.")
TYPED = Flag(
    "set", ("--set",), "KEY=VALUE", "A value: a text, a whole number, true, false or null, as in a.b[0]={x,y},c=1."
)
STRING = Flag(
    "set_string", ("--set-string",), "KEY=VALUE", "A value that is always a text, even if it looks like a number."
)
FILE_TEXT = Flag("set_file", ("--set-file",), "KEY=FILE", "A value that is the text of a file.")
LITERAL = Flag("set_literal", ("--set-literal",), "KEY=VALUE", "A text that is taken exactly as it is written.")
SECRET = Flag(
    "set_secret",
    ("--set-secret",),
    "KEY=VALUE",
    "A text that only resources may see; note that the shell's history keeps it.",
)
SECRET_FILE = Flag(
    "set_secret_file",
    ("--set-secret-file",),
    "KEY=FILE",
    "A text that only resources may see, and the file that holds it.",
)

# In the order in which they are merged; later ones win.
FLAGS = (FILES, JSON, TYPED, STRING, FILE_TEXT, LITERAL, SECRET, SECRET_FILE)
