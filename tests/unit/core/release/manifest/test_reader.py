"""Reading manifests: what is united, what is refused, and where the mistake is said to be."""

import pytest
from ruamel.yaml.nodes import Node

from tinkwell.core import errors
from tinkwell.core.release.manifest import reader
from tinkwell.core.release.manifest.model import Manifest, ManifestResource, Plug
from tinkwell.core.value import document
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position

SEED = """
resources:

  my_data_disk:
    type: acme/deployster-gcp-disk
    config:
      name: www_data_disk
      size: '200gb'

  www_vm:
    type: acme/deployster-gcp-vm
    dependencies:
      disk: my_data_disk
    config:
      name: www_vm
      zone: '{{ www_data_disk.state.zone }}'
      machine-type: n1-standard-4
"""


def read(*texts: str) -> Manifest:
    return reader.read([(f"{chr(ord('a') + index)}.yaml", text) for index, text in enumerate(texts)])


def refused(*texts: str) -> list[str]:
    with pytest.raises(errors.InvalidField) as caught:
        read(*texts)
    return [f"{violation.field}: {violation.description}" for violation in caught.value.violations]


def test_the_manifest_of_the_protocols_document_is_read_as_it_is_written() -> None:
    assert read(SEED).resources == {
        "my_data_disk": ManifestResource(
            type="acme/deployster-gcp-disk", config={"name": "www_data_disk", "size": "200gb"}
        ),
        "www_vm": ManifestResource(
            type="acme/deployster-gcp-vm",
            dependencies={"disk": "my_data_disk"},
            config={"name": "www_vm", "zone": "{{ www_data_disk.state.zone }}", "machine-type": "n1-standard-4"},
        ),
    }


def test_plugs_and_resources_have_defaults_and_fields_as_written() -> None:
    manifest = read(
        """
        plugs:
          p1: {path: ./p1, read_only: true}
          p2: {path: ./p2, read_only: false, resource_names: [abc, def], resource_types: [a123, b456]}
        resources:
          r1: {type: "r1:1.0.0", config: {k1: v1, k2: 1.10}}
          r2:
            type: "{{ image }}"
            dependencies: {d1: r1, one: "many[{{ each.key }}]"}
            when: "{{ big }}"
            for_each: [a, b]
            readonly: true
            keep: true
            timeouts: {state: 5, action: "{{ seconds }}"}
            retries: 0
            concurrency_key: "{{ zone }}"
            ignore: [/a/0, ""]
            sensitive: [/password]
        outputs: {url: "{{ r2.state.url }}", n: 1}
        """
    )
    assert manifest.plugs == {
        "p1": Plug(path="./p1", read_only=True),
        "p2": Plug(path="./p2", resource_names=("abc", "def"), resource_types=("a123", "b456")),
    }
    assert document.dump_json(manifest.resources["r1"].config) == '{"k1":"v1","k2":1.10}'
    assert manifest.resources["r2"] == ManifestResource(
        type="{{ image }}",
        dependencies={"d1": "r1", "one": "many[{{ each.key }}]"},
        when="{{ big }}",
        for_each=["a", "b"],
        readonly=True,
        keep=True,
        timeouts={"state": 5, "action": "{{ seconds }}"},
        retries=0,
        concurrency_key="{{ zone }}",
        ignore=("/a/0", ""),
        sensitive=("/password",),
    )
    assert manifest.outputs == {"url": "{{ r2.state.url }}", "n": 1}
    stored = document.parse_json("manifest", document.dump_json(manifest.as_json()))
    assert Manifest.from_json(stored) == manifest


def test_files_and_documents_are_united_and_may_refer_to_each_other() -> None:
    manifest = read(
        "resources: {r2: {type: b, dependencies: {d1: r1}}}\n---\nplugs: {p: {path: x}}\n---\n",
        "resources: {r1: {type: a}}\noutputs: {o: 1}",
    )
    assert list(manifest.resources) == ["r2", "r1"]
    assert list(manifest.plugs) == ["p"]
    assert manifest.outputs == {"o": 1}


@pytest.mark.parametrize("kind", ["plugs: {p1: {path: x}}", "resources: {r1: {type: a}}", "outputs: {o: 1}"])
def test_a_name_that_occurs_twice_is_refused_with_both_files(kind: str) -> None:
    name = kind.split("{")[1].split(":")[0]
    [sentence] = refused(f"\n\n{kind}", kind)
    path = f"{kind.split(':')[0]}.{name}"
    assert sentence.startswith(f'files["b.yaml"].{path}: line 1, column ')
    assert "is also in a.yaml, line 3; a name may occur once" in sentence
    [sentence] = refused(f"{kind}\n---\n{kind}")
    assert sentence.startswith(f'files["a.yaml"].{path}: line 3, column ')


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("plugs: []", ".plugs: line 1, column 1: must be an object, and not a list"),
        ("plugs: {}\n   x: 1", ": line 2, column 4: not YAML: "),
        ("", ": has no document; write resources:"),
        ("# nothing\n---\n---\n", ": has no document; "),
        ("[1]", ": line 1, column 1: must be an object with plugs, resources, outputs, and not a list"),
        ("resorces: {}", ".resorces: line 1, column 1: there is no such field; did you mean resources?"),
        ("resources: {1a: {bogus: 1}}", '.resources.1a: line 1, column 13: "1a" is not a name; begin with a letter'),
        ('resources: {"a b": {type: x}}', '.resources["a b"]: line 1, column 13: "a b" is not a name'),
        ("plugs: {../x: {path: x}}", '.plugs["../x"]: line 1, column 9: "../x" is not a name'),
        ("resources: {a: {type: x}, a: {type: x}}", ": line 1, column 27: the key a occurs twice"),
        ("resources: {a: {}}", ".resources.a.type: line 1, column 13: must be given"),
        ("resources: {a: null}", ".resources.a: line 1, column 13: must be an object with type, dependencies"),
        ("resources: {a: {type: 1.20}}", ".type: line 1, column 17: must be text, and not a number; put quotes"),
        ("resources: {a: {type: A b}}", '.type: line 1, column 17: "A b" is not an image'),
        ("resources: {a: {type: x, readonly: yes}}", ".readonly: line 1, column 26: must be true or false, and not"),
        ("resources: {a: {type: x, read_only: true}}", "a resource has readonly; read_only is a field of plugs"),
        ("plugs: {p: {path: x, readonly: true}}", "a plug has read_only; readonly is a field of resources"),
        ("resources: {a: {type: x, depends_on: [b]}}", "dependencies names each one by an alias"),
        ("resources: {a: {type: x, config: [1]}}", ".config: line 1, column 26: must be an object, and not a list"),
        ("resources: {a: {type: x, config: }}", "must be an object, and not null; leave it out where there is none"),
        ("resources: {a: {type: x, dependencies: {d: 1}}}", ".dependencies.d: line 1, column 41: must be text"),
        ("resources: {a: {type: x, dependencies: {d: ''}}}", '"" is not the path of a resource'),
        ("resources: {a: {type: x, dependencies: {release: b}}}", "means something else in expressions"),
        ("resources: {a: {type: x, when: sometimes}}", 'must be true or false, and not the text "sometimes"'),
        ("resources: {a: {type: x, for_each: 5}}", "a list of texts, an object, or an expression that gives one"),
        ("resources: {a: {type: x, timeouts: {stat: 1}}}", "did you mean state?"),
        ("resources: {a: {type: x, timeouts: {state: 0}}}", "is 0; it must be from 1 to 604,800"),
        ("resources: {a: {type: x, timeouts: {state: 1.5}}}", "must be a whole number from 1 to 604,800"),
        ("resources: {a: {type: x, timeouts: {state: '5'}}}", 'and not the text "5"; write it without quotes'),
        ("resources: {a: {type: x, retries: 101}}", "is 101; it must be from 0 to 100"),
        ("resources: {a: {type: x, retries: true}}", "must be a whole number from 0 to 100, and not true"),
        ("resources: {a: {type: x, ignore: [a]}}", '.ignore[0]: line 1, column 35: "a" is not a JSON pointer'),
        ("resources: {a: {type: x, sensitive: [/~2]}}", '"/~2" is not a JSON pointer'),
        ("resources: {a: {type: x, sensitive: ['/{{ x }}']}}", "write a pointer without one"),
        ("plugs: {p: {path: x, resource_names: [a, a]}}", '.resource_names[1]: line 1, column 42: "a" occurs twice'),
        (f"plugs: {{p: {{path: x, resource_types: [{'a' * 257}]}}}}", "has 257 bytes; at most 256 are allowed"),
        ('outputs: {x: "\\0"}', '.outputs.x: line 1, column 11: the text "\\u0000" holds the NUL character'),
        ('outputs: {x: "\\ud800"}', "holds a lone surrogate"),
        ("x: \x07", "has the control character \\u0007"),
        ("outputs: " + "[" * 70 + "]" * 70, "is nested deeper than 64 levels"),
        ("outputs: " + "[" * 1_000, "is nested too deeply"),
        ("x" * (reader.MAX_FILE_BYTES + 1), "has 1,048,577 bytes; at most 1,048,576 are allowed"),
    ],
)
def test_what_is_wrong_is_named_with_its_path_line_and_column(text: str, sentence: str) -> None:
    assert any(told.startswith('files["a.yaml"]') and sentence in told for told in refused(text))


def test_all_mistakes_of_all_files_are_told_but_no_more_than_twenty() -> None:
    told = refused("resources: {a: {}}", "plugs: []", "x: [")
    assert [sentence.split(": ")[0] for sentence in told] == [
        'files["a.yaml"].resources.a.type',
        'files["b.yaml"].plugs',
        'files["c.yaml"]',
    ]
    assert len(refused("\n".join(f"k{number}: 1" for number in range(50)))) == document.MAX_VIOLATIONS


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Service\nmetadata: {name: x}",
        "resources: {}\n---\napiVersion: v1\nkind: Service\n",
        'apiVersion: v1\nkind: Service\nmetadata: {name: "{{ .Values.x }}"}',
    ],
)
def test_kubernetes_objects_get_a_sentence_of_their_own(text: str) -> None:
    [sentence] = refused(text)
    assert "is a Kubernetes Service; Tinkwell runs resource images" in sentence


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("metadata:\n  name: {{ .Values.x }}", 2),
        ("metadata:\n  {{- with .Values.labels }}\n  x: 1\n  {{- end }}", 2),
        ('resources:\n  a:\n    type: x\n    config: {n: "{{ .Values.x }}"}', 4),
        ('resources: {a: {type: x, config: {n: ["{{- $x }}"]}}}', 1),
        ("resources: {a: {type: x, config: {n: '{{ include \"foo.name\" . }}'}}}", 1),
        ("{{/* a comment */}}\nresources: {}", 1),
    ],
)
def test_go_templates_get_a_sentence_of_their_own(text: str, line: int) -> None:
    [sentence] = refused(text)
    assert f"line {line}, " in sentence
    assert "this is a Go template; expressions are Jinja" in sentence


@pytest.mark.parametrize(
    "value",
    [
        "{{ '{{.Names}}' }}",
        "{% raw %}{{.Names}}{% endraw %}",
        "{{ range(3) }}",
        "{{ default }}",
        "{{ x if x else y }}",
        "$x and .y",
    ],
)
def test_what_only_looks_like_a_go_template_is_left_to_whoever_evaluates(value: str) -> None:
    text = f"resources: {{a: {{type: x, config: {{n: {document.dump_json(value)}}}}}}}"
    assert read(text).resources["a"].config == {"n": value}


def test_an_expression_without_quotes_gets_a_hint() -> None:
    [sentence] = refused("resources:\n  a:\n    type: {{ image }}")
    assert sentence.startswith('files["a.yaml"]: line 3, column ')
    assert 'put quotes around a text with an expression: "{{ x }}"' in sentence


def test_aliases_are_counted_and_so_is_what_they_unfold_to() -> None:
    few = "outputs: {a: &a [1, 2], b: [" + ", ".join(["*a"] * 20) + "]}"
    assert read(few).outputs["b"] == [[1, 2]] * 20
    [sentence] = refused("outputs: {a: &a [1, 2], b: [" + ", ".join(["*a"] * 101) + "]}")
    assert "has 101 aliases; at most 100 are allowed" in sentence
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 5)]
    [sentence] = refused("\n".join(lines))
    assert "unfolds to more than " in sentence
    [sentence] = refused(f"outputs: {{a: &a {'x' * 1_000}, b: [" + ", ".join(["*a"] * 50) + "]}")
    assert "characters" in sentence
    assert refused("outputs: {a: &a [*a]}")


def test_no_more_is_looked_at_once_enough_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    located: list[position.Path] = []
    locate = yaml_node.locate

    def count(node: Node, path: position.Path) -> position.Position:
        located.append(path)
        return locate(node, path)

    monkeypatch.setattr(yaml_node, "locate", count)
    text = "resources:\n" + "".join(f"  a{number}: {{type: x}}\n" for number in range(200))
    with pytest.raises(errors.InvalidField) as caught:
        reader.read([("a", text), ("b", text), ("c", "[")])
    assert len(caught.value.violations) == document.MAX_VIOLATIONS
    assert len(located) == 2 * document.MAX_VIOLATIONS


def test_there_may_be_so_many_files_and_no_more() -> None:
    with pytest.raises(errors.InvalidField, match="has 1,001 files; at most 1,000"):
        reader.read([("a.yaml", "{}")] * 1_001)
    assert read() == Manifest()
