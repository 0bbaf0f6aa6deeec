"""JSON values as YAML that all readers read in the same way.

YAML 1.1 readers, which are many, read `no` as false and the MAC address 52:54:00:10:00:03 as a number in base 60. So
only texts that no reader can misread are written without quotes.
"""

import io
import re
from typing import Any

import ruamel.yaml
from ruamel.yaml import nodes, representer

_PLAIN = re.compile(r"[A-Za-z_/][\w ./@-]*", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


class _Representer(representer.SafeRepresenter):
    def represent_text(self, text: str) -> nodes.ScalarNode:
        """Choose the style: a block for several lines, plain for plain words, quotes for all other texts."""
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))

    def ignore_aliases(self, data: object) -> bool:
        """Write every value in full, without anchors."""
        return True


_Representer.add_representer(str, _Representer.represent_text)


def dump(value: object) -> str:
    """Write a JSON value as a YAML document, keys in their order, without a final line end."""
    yaml: Any = ruamel.yaml.YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = 1_000_000
    yaml.sort_base_mapping_type_on_output = False
    stream = io.StringIO()
    yaml.dump(value, stream)
    return stream.getvalue().removesuffix("\n").removesuffix("\n...")


def _style(text: str) -> str | None:
    if "\n" in text and text.replace("\n", "").isprintable():
        return "|"
    is_plain = _PLAIN.fullmatch(text) and text == text.strip() and text.lower() not in _WORDS
    return None if is_plain else '"'
