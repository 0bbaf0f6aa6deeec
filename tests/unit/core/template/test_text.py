"""Every template can be written as YAML that reads as the same template."""

import pytest
import ruamel.yaml
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.template import reader, tree
from tinkwell.core.template import text as template_text
from tinkwell.core.template.gotemplate import output
from tinkwell.core.template.model import Action, Task, Template

texts = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    st.text(st.sampled_from("ab:-?[]{},#&*!|>'\"%@`~<= \n\t\r\\.0\x85\u2028\ufeff\ufdd0"), max_size=20),
    st.from_regex(r"( {0,2}[a#:-]{0,3} ?\n){1,4}[a ]{0,2}", fullmatch=True),
)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,5}", fullmatch=True)
lists = st.lists(texts, max_size=3).map(tuple)
volumes = st.lists(st.sampled_from(["/a", "/a:/b", "d:/b:ro", "-:/c", "0:/c"]), max_size=2).map(tuple)
environments = st.dictionaries(names, texts, max_size=3).map(
    lambda variables: tuple(f"{key}={variables[key]}" for key in sorted(variables))
)
seconds = st.integers(0, 31_536_000)
recoveries = st.sampled_from(["", "yes", "0644", "recover-it", "n" * 199, "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"])
titles = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20)


def actions_of(task_name: str, worker: str) -> st.SearchStrategy[tuple[Action, ...]]:
    return st.lists(
        st.builds(
            Action,
            task_name=st.just(task_name),
            name=titles,
            image=st.sampled_from(["i", "quay.io/x/y:v1", "0", "1.5", "12:30"]),
            timeout_seconds=seconds,
            command=lists,
            volumes=volumes,
            environment=environments,
            pid=st.sampled_from(["", "host"]),
            on_timeout=lists,
            on_failure=lists,
            worker=st.just(worker),
            retries=st.integers(0, 100),
            retry_delay_seconds=st.integers(0, 86_400),
            reboots=st.booleans(),
        ).filter(lambda action: action.timeout_seconds > 0 or not action.reboots),
        min_size=1,
        max_size=3,
        unique_by=lambda action: action.name,
    ).map(tuple)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    name, worker = draw(titles), draw(texts.filter(bool))
    return Task(
        name=name,
        worker=worker,
        volumes=draw(volumes),
        environment=draw(environments),
        actions=draw(actions_of(name, worker)),
    )


templates = st.builds(
    Template,
    name=titles,
    version=st.just("0.1"),
    global_timeout_seconds=seconds,
    tasks=st.lists(tasks(), min_size=1, max_size=2, unique_by=lambda task: task.name).map(tuple),
    on_timeout=recoveries,
    on_failure=recoveries,
)


@given(templates)
def test_a_written_template_reads_as_itself(written: Template) -> None:
    text = "".join(template_text.write(written))
    writer = output.Writer(text)
    writer.write_text(text, 0)
    root = tree.compose("data", writer.output())
    assert reader.read("data", root, place=str, needs_workers=True) == written


@given(texts)
def test_every_reader_takes_a_written_text_as_that_text(text: str) -> None:
    action = Action(
        task_name="t",
        name="a",
        image="i",
        timeout_seconds=0,
        command=(text, text),
        volumes=(),
        environment=(f"A={text}", f"B={text}"),
        pid="",
        on_timeout=(),
        on_failure=(),
        worker="w",
    )
    task = Task(name="t", worker="w", volumes=(), environment=(), actions=(action,))
    written = "".join(template_text.write(Template(name="n", version="0.1", global_timeout_seconds=0, tasks=(task,))))
    for version in ((1, 1), (1, 2)):
        yaml = ruamel.yaml.YAML(typ="safe", pure=True)
        yaml.version = version
        (loaded,) = yaml.load(written)["tasks"][0]["actions"]
        assert loaded["command"] == [text, text]
        assert loaded["environment"] == {"A": text, "B": text}


@pytest.mark.parametrize(
    ("text", "scalar"),
    [
        ("plain", "plain"),
        ("/dev/sda1:/dev/x", "/dev/sda1:/dev/x"),
        ("echo grub failed", "echo grub failed"),
        ("http://192.168.56.4:8080/a?b", '"http://192.168.56.4:8080/a?b"'),
        ("", '""'),
        ("yes", '"yes"'),
        ("No", '"No"'),
        ("NULL", '"NULL"'),
        ("0644", '"0644"'),
        ("12:30:45", '"12:30:45"'),
        ("-c", '"-c"'),
        ("a: b", '"a: b"'),
        ("a:", '"a:"'),
        ("a #b", '"a #b"'),
        ("a\tb", '"a\\tb"'),
        ("a\u0085\ufeff\U000e0001", '"a\\x85\\ufeff\\U000e0001"'),
        ("a\nb", "|-\n            a\n            b"),
        ("a\n\n  b\n", "|\n            a\n\n              b"),
        ("a\n\n\n", "|+\n            a\n\n"),
        ("\na", '"\\na"'),
        (" a\nb", '" a\\nb"'),
        ("a\r\nb", '"a\\r\\nb"'),
    ],
)
def test_a_text_is_written_as_plainly_as_is_safe(text: str, scalar: str) -> None:
    action = Action(
        task_name="t",
        name="a",
        image="i",
        timeout_seconds=0,
        command=(text,),
        volumes=(),
        environment=(),
        pid="",
        on_timeout=(),
        on_failure=(),
        worker="w",
    )
    task = Task(name="t", worker="w", volumes=(), environment=(), actions=(action,))
    written = "".join(template_text.write(Template(name="n", version="0.1", global_timeout_seconds=0, tasks=(task,))))
    assert written.endswith(f"        command:\n          - {scalar}\n")
