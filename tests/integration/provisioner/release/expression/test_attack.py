"""Expressions that want out, or want everything: each is one clear error, and the next call works."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from unit.provisioner.release.expression.asking import RELEASE

from tinkwell.core import errors
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.core.value import parse
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import ManifestNames
from tinkwell.sandbox.limit import Limits

FIELD = "resources.web.config.attack"
UNSAFE = " is not allowed"
UNKNOWN = "there is no "
PROCESSOR = "needs more than 1 s of processor time"
MEMORY = "needs more than 256 MiB of memory"
SIZE = "gives more than"
NESTED = "is nested too deeply, or calls itself without end"
DEEP = "{% set a = 1 %}" + "{% set a = [a] %}" * 1200
DOUBLED = "{% set a = 'x' * 1000 %}" + "{% set a = a ~ a %}" * 30 + "{{ a }}"

ATTACKS = {
    # Ways to the interpreter.
    "the class of a text": ("{{ ''.__class__ }}", UNSAFE),
    "the class by its name as a key": ("{{ ''['__class__'] }}", UNSAFE),
    "all classes": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", UNSAFE),
    "the order of classes": ("{{ ''.__class__.mro() }}", UNSAFE),
    "a name that is put together": ("{{ ''['__cla' ~ 'ss__'] }}", UNSAFE),
    "a name in escapes": ("{{ ''['\\x5f\\x5fclass\\x5f\\x5f'] }}", UNSAFE),
    "the globals of a function": ("{{ range.__globals__ }}", UNSAFE),
    "the object of a method": ("{{ ''.join.__self__.__class__ }}", UNSAFE),
    "the code of a generator": ("{{ (zones | map('upper')).gi_frame }}", UNSAFE),
    "the frame behind a generator": ("{{ (zones | map('upper')).gi_code.co_consts }}", UNSAFE),
    "the template itself": ("{{ self.__init__.__globals__ }}", UNSAFE),
    "the context behind the template": ("{{ self._TemplateReference__context }}", UNSAFE),
    "the globals of a macro": ("{% macro m() %}{% endmacro %}{{ m.__init__.__globals__ }}", UNSAFE),
    "the function of a macro": ("{% macro m() %}{% endmacro %}{{ m._func }}", UNSAFE),
    "the environment of a loop": ("{% for z in zones %}{{ loop._iterator }}{% endfor %}", UNSAFE),
    "the filter attr": ("{{ '' | attr('__class__') }}", "No filter named 'attr'"),
    "attr by map": ("{{ [''] | map('attr', '__class__') | list }}", "No filter named 'attr'"),
    "an attribute by map": ("{{ [''] | map(attribute='__class__') | list }}", UNSAFE),
    "a path of attributes by map": ("{{ [''] | map(attribute='__class__.__mro__') | list }}", UNSAFE),
    "an attribute by sort": ("{{ ['', 'a'] | sort(attribute='__class__') }}", UNSAFE),
    "an attribute by groupby": ("{{ [''] | groupby('__class__') }}", UNSAFE),
    "an attribute by selectattr": ("{{ [''] | selectattr('__class__') | list }}", UNSAFE),
    "an attribute by sum": ("{{ [1] | sum(attribute='__class__') }}", UNSAFE),
    "an attribute by unique": ("{{ [''] | unique(attribute='__class__') | list }}", UNSAFE),
    "an attribute by min": ("{{ ['', 'a'] | min(attribute='__class__') }}", UNSAFE),
    "an attribute by join": ("{{ [''] | join('', attribute='__class__') }}", UNSAFE),
    "an attribute by format": ("{{ '{0.__class__}'.format('') }}", UNSAFE),
    "an item by format": ("{{ '{0[__class__]}'.format('') }}", UNSAFE),
    "an attribute by format_map": ("{{ '{a.__class__}'.format_map({'a': ''}) }}", UNSAFE),
    "format of escaped text": ("{{ ('{0.__class__}' | e).format('') }}", UNSAFE),
    "format as an attribute": ("{{ ['{0.__class__}'] | map(attribute='format') | list }}", "gives a function"),
    "the filter format": ("{{ '%s' | format(zones) }}", "No filter named 'format'"),
    "the operator %": ("{{ '%(x)999999999d' % {'x': 1} }}", "% formats no texts here"),
    "a module of Jinja": ("{{ cycler.__init__.__globals__.os }}", "cycler is not available"),
    "another module of Jinja": ("{{ lipsum.__globals__ }}", "lipsum is not available"),
    "a namespace": ("{% set n = namespace(a=1) %}{{ n.a }}", "namespace is not available"),
    "a file as a template": ("{% include '/etc/passwd' %}", "include, import, extends and block are not available"),
    "a file as a parent": ("{% extends '/etc/passwd' %}", "include, import, extends and block are not available"),
    "builtins": ("{{ __builtins__ }}", UNKNOWN),
    "an import": ("{{ __import__('os').environ }}", UNKNOWN),
    "what generated code knows": ("{{ environment.globals }}", UNKNOWN),
    "a codec that is a module": ("{{ 'a'.encode('idna') }}", "needs a file, and there are none"),
    # Changes of what others see.
    "a list is changed": ("{{ zones.append('d') }}", UNSAFE),
    "a list is sorted": ("{{ zones.sort() }}", UNSAFE),
    "an object is changed": ("{{ vars.update({'a': 1}) }}", UNSAFE),
    "an object is emptied": ("{{ vars.clear() }}", UNSAFE),
    # Numbers and texts without end.
    "a power": ("{{ 10 ** (10 ** 10) }}", "** would make a number of more than 4,096 bits"),
    "a product": ("{{ " + "(2 ** 2000) * " * 3 + "1 > 0 }}", "* would make a number of more than 4,096 bits"),
    "a long text": ("{{ 'x' * 999999999 }}", "* would make more than"),
    "a long list": ("{{ [1] * 999999999 }}", "* would make more than"),
    "a list of long texts": ("{{ ['x' * 1000000] * 1000 }}", SIZE),
    "doubling by ~": (DOUBLED, "~ gives more than 1,048,576 characters"),
    "doubling by +": (DOUBLED.replace("~", "+"), "+ would make more than"),
    "doubling by join": (DOUBLED.replace("a ~ a", "[a, a] | join"), MEMORY),
    "doubling of references": (
        "{% set a = ['x'] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}",
        SIZE,
    ),
    "doubling by sum": ("{% set a = [1] * 1000 %}" + "{% set a = [a, a] | sum(start=[]) %}" * 30 + "{{ a }}", MEMORY),
    "joining by itself": ("{% set a = 'x' * 100000 %}{{ a | join(a) }}", MEMORY),
    "replacing by itself": ("{% set a = 'x' * 100000 %}{{ a | replace('x', a) }}", MEMORY),
    "padding": ("{{ 'x'.ljust(999999999) }}", MEMORY),
    "zeros before a number": ("{{ '1'.zfill(999999999) }}", MEMORY),
    "a wide format": ("{{ '{:>999999999}'.format(1) }}", MEMORY),
    "a wide format of a number": ("{{ '{:0999999999d}'.format(1) }}", MEMORY),
    "a wide indent": ("{{ 'a\nb' | indent(999999999) }}", MEMORY),
    "a wide indent of JSON": ("{{ [1] | tojson(indent=999999999) }}", MEMORY),
    "wide tabs": ("{{ '\t'.expandtabs(999999999) }}", MEMORY),
    "many bytes": ("{{ (1).to_bytes(999999999, 'big') }}", MEMORY),
    "a batch that is filled": ("{{ zones | batch(999999999, 'x') | list }}", MEMORY),
    "many slices": ("{{ zones | slice(999999999) | list }}", f"{PROCESSOR}|{MEMORY}"),
    "slices that nobody reads": ("{{ zones | slice(999999999) | last }}", f"{PROCESSOR}|{MEMORY}|is not reversible"),
    "a large range": ("{{ range(10 ** 18) | list }}", "range gives more than 10,000 numbers"),
    "loops in loops": (
        "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3,
        PROCESSOR,
    ),
    "much text by loops": (
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ 'x' * 1000 }}{% endfor %}{% endfor %}",
        SIZE,
    ),
    "a precise round": ("{{ 1.5 | round(999999999, 'ceil') }}", f"{PROCESSOR}|{MEMORY}"),
    "a slow search": ("{% for a in range(9999) %}{{ ('a' * 100000).count('aab') }}{% endfor %}", PROCESSOR),
    # Nesting without end.
    "a macro that calls itself": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", NESTED),
    "a macro that calls itself twice": ("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", NESTED),
    "a loop that calls itself": ("{% for a in zones recursive %}{{ loop(zones) }}{% endfor %}", NESTED),
    "parentheses": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", NESTED),
    "many operators": ("{{ " + "1 + " * 2000 + "1 }}", NESTED),
    "many signs": ("{{ " + "-" * 5000 + "1 }}", NESTED),
    "many negations": ("{{ " + "not " * 5000 + "1 }}", NESTED),
    "many conditions": ("{% if 1 %}" * 500 + "{% endif %}" * 500, NESTED),
    "a deep list": (DEEP + "x{{ a }}", "nested deeper than 64 levels"),
    "a deep list as JSON": (DEEP + "{{ a | tojson }}", NESTED),
    "a deep list in a list": (
        DEEP + "{{ a == [a] }}{{ a | string }}",
        NESTED,
    ),
    # Values that would do harm where they are stored.
    "a NUL character": ("{{ '\\x00' }}", "the NUL character, which cannot be stored"),
    "half a character": ("{{ '\\ud800' }}", "a lone surrogate, which cannot be stored"),
    "a long number": ("{{ 9 ** 999 }}", "gives a number of more than 63 digits"),
    "no number": ("{{ 1e308 * 10 - 1e308 * 10 }}", "gives nan"),
    "the place of a function": ("x{{ zones.index }}", "gives a function"),
}


# One child for all attacks, as in a provisioner: to start one takes longer than most attacks.
@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def expressions() -> AsyncIterator[Expressions]:
    # An attack is to end by its processor time, for which a busy machine may take a minute.
    async with Expressions(limits=Limits(wall_seconds=100)) as made:
        yield made


def test_there_are_enough() -> None:
    assert len(ATTACKS) >= 52


def manifest(**config: str) -> Manifest:
    return Manifest.from_json({"resources": {"web": {"type": "t", "config": {**config}}}})


def variables(**others: JsonValue) -> JsonObject:
    return {"zones": ["a", "b", "c"], **others}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_is_one_clear_error_and_the_next_call_works(expressions: Expressions, name: str) -> None:
    text, said = ATTACKS[name]
    known = variables(password="hunter2")
    with pytest.raises(errors.InvalidField) as raised:
        await expressions.render(manifest(attack=text, other="{{ zones }}"), ManifestNames(known, RELEASE))
    (violation,) = raised.value.violations
    assert violation.field == FIELD
    assert any(each in violation.description for each in said.split("|"))
    assert len(violation.description) < 300
    assert "hunter2" not in violation.description
    assert "0x" not in violation.description
    if UNKNOWN not in said:
        assert violation.description.startswith(f"`{parse.excerpt(text)}`: ")
    rendered = await expressions.render(manifest(zones="{{ zones }}"), ManifestNames(known, RELEASE))
    assert rendered.manifest.resources["web"].config == {"zones": ["a", "b", "c"]}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ zones | map('upper') | list | tojson }}", '["A", "B", "C"]'),
        ("{{ password }}", "{{ vars }}"),
        ("{{ password ~ '' }}", "{{ vars }}"),
        ("{{ [password, '{% raw %}'] | join }}", "{{ vars }}{% raw %}"),
        ("{{ '{{ vars }}' }}", "{{ vars }}"),
    ],
)
async def test_what_comes_out_of_an_expression_is_no_expression(
    expressions: Expressions, text: str, value: str
) -> None:
    rendered = await expressions.render(manifest(x=text), ManifestNames(variables(password="{{ vars }}"), RELEASE))
    assert rendered.manifest.resources["web"].config == {"x": value}
    assert rendered.manifest.resources["web"].late == Late()
