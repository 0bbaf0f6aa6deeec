"""The manifest of a charm: its fields, what only warns, and what is refused in which line with which sentence."""

import decimal
import re

import pytest

from tinkwell.core import errors
from tinkwell.core.charm import metadata
from tinkwell.core.charm.record import (
    Action,
    Endpoint,
    Manifest,
    Option,
    OptionType,
    Resource,
    Role,
    Storage,
)
from tinkwell.core.unit.kinds import CharmKind, Profile

FULL = """\
name: web
kind: native
profile: juju
summary: Serves one page.
description: |
  Serves one page;
  needs a database.
provides:
  site: http
requires:
  db: {interface: postgresql, limit: 1, optional: true}
peers:
  cluster: {interface: web-cluster}
storage:
  data: {type: filesystem, description: Pages}
  logs: {type: filesystem, multiple: {range: 0-}}
  spool: {type: filesystem, multiple: {range: 2}}
  cache: {type: filesystem, multiple: {range: 1-3}}
config:
  options:
    workers: {type: int, default: 2, minimum: 1, maximum: 64, description: How many}
    ratio: {type: float, default: 0.50}
    title: {type: string, default: ""}
    debug: {type: boolean, default: false}
    motto: {}
    token: {type: secret}
actions:
  backup:
    description: Writes all that there is to a file.
    params:
      target: {type: string, description: Where to}
      level: {type: integer, default: 1, minimum: 0, maximum: 9}
    required: [target]
    additionalProperties: false
  pause: {}
resources:
  site: {type: file, filename: site.zip, description: The pages}
extra-bindings:
  admin:
"""


def read(text: str, **files: str) -> Manifest:
    return metadata.read_manifest({"charm.yaml": text, **files})[0]


def warned(text: str) -> tuple[str, ...]:
    return metadata.read_manifest({"charm.yaml": text})[1]


def refused(files: dict[str, str]) -> list[str]:
    with pytest.raises(errors.CharmRefused) as caught:
        metadata.read_manifest(files)
    return [f"{violation.field}: {violation.description}" for violation in caught.value.violations]


def test_an_interface_alone_is_refused_where_ops_is_to_read_it() -> None:
    manifest = "name: web\nsummary: a\nprovides: {site: http}\nrequires: {db: {interface: sql}}\n"
    told = 'metadata.yaml.provides.site: line 3, column 12: is "http" alone; ops reads {interface: NAME}: write that'
    assert refused({"metadata.yaml": manifest}) == [told]
    assert read("name: web\nkind: scripts\nprovides: {site: http}\n").endpoints["site"].interface == "http"


def test_all_fields_are_read() -> None:
    assert read(FULL) == Manifest(
        name="web",
        kind=CharmKind.NATIVE,
        profile=Profile.JUJU,
        summary="Serves one page.",
        description="Serves one page;\nneeds a database.\n",
        endpoints={
            "site": Endpoint(name="site", role=Role.PROVIDES, interface="http"),
            "db": Endpoint(name="db", role=Role.REQUIRES, interface="postgresql", limit=1, is_optional=True),
            "cluster": Endpoint(name="cluster", role=Role.PEER, interface="web-cluster"),
        },
        storages={
            "data": Storage(name="data", description="Pages"),
            "logs": Storage(name="logs", minimum=0, maximum=None),
            "spool": Storage(name="spool", minimum=2, maximum=2),
            "cache": Storage(name="cache", minimum=1, maximum=3),
        },
        options={
            "workers": Option(
                name="workers", type=OptionType.INT, default=2, minimum=1, maximum=64, description="How many"
            ),
            "ratio": Option(name="ratio", type=OptionType.FLOAT, default=decimal.Decimal("0.50")),
            "title": Option(name="title", type=OptionType.STRING, default=""),
            "debug": Option(name="debug", type=OptionType.BOOLEAN, default=False),
            "motto": Option(name="motto", type=OptionType.STRING),
            "token": Option(name="token", type=OptionType.SECRET),
        },
        actions={
            "backup": Action(
                name="backup",
                description="Writes all that there is to a file.",
                parameters={
                    "target": {"type": "string", "description": "Where to"},
                    "level": {"type": "integer", "default": 1, "minimum": 0, "maximum": 9},
                },
                required=("target",),
                is_open=False,
            ),
            "pause": Action(name="pause"),
        },
        resources={"site": Resource(name="site", filename="site.zip", description="The pages")},
        bindings=("admin",),
    )


def test_what_a_manifest_gives_as_json_reads_as_the_same_manifest() -> None:
    assert metadata.from_json(read(FULL).as_json()) == read(FULL)


def test_a_name_is_enough() -> None:
    found = read("name: web")
    assert found == Manifest(name="web")
    assert (found.kind, found.profile) == (CharmKind.SCRIPTS, None)
    assert metadata.from_json(found.as_json()) == found


def test_a_storage_of_any_number_keeps_that_as_json() -> None:
    found = read("name: web\nstorage: {data: {multiple: {range: 1+}}}")
    assert found.storages["data"].maximum is None
    assert metadata.from_json(found.as_json()) == found


def test_metadata_and_config_of_juju_are_read_together() -> None:
    files = {
        "metadata.yaml": "name: web\nmaintainer: ann\nseries: [jammy]\nsubordinate: false\ntags: [misc]\n",
        "config.yaml": "options:\n  workers: {type: int}\n",
        "actions.yaml": "pause: {description: Stops it}\n",
    }
    found, warnings = metadata.read_manifest(files)
    assert found == Manifest(
        name="web",
        kind=CharmKind.OPS,
        profile=Profile.JUJU,
        options={"workers": Option(name="workers", type=OptionType.INT)},
        actions={"pause": Action(name="pause", description="Stops it")},
    )
    assert not warnings
    assert metadata.from_json(found.as_json()) == found


def test_charmcraft_holds_both_with_what_it_builds_by() -> None:
    text = "name: web\ntype: charm\nbase: ubuntu@24.04\nparts: {charm: {}}\nconfig: {options: {a: {}}}\n"
    found, warnings = metadata.read_manifest({"charmcraft.yaml": text, "config.yaml": "options: {b: {}}"})
    assert [*found.options] == ["a"]
    assert not warnings


def test_what_belongs_into_another_file_of_juju_is_a_warning() -> None:
    _, warnings = metadata.read_manifest({"metadata.yaml": "name: web\nactions: {a: {}}\n"})
    assert warnings == ("metadata.yaml: actions is not read there; write it into actions.yaml",)


@pytest.mark.parametrize(
    "given", ["[juju >= 3.1]", "[juju > 3.6.8, juju<4]", "[{any-of: [k8s-api, juju >= 3]}]", "[juju == 3.6.9]"]
)
def test_what_a_charm_may_assume(given: str) -> None:
    assert not warned(f"name: web\nassumes: {given}")


def test_our_own_file_comes_first() -> None:
    files = {"charm.yaml": "name: ours", "metadata.yaml": "name: theirs", "charmcraft.yaml": "name: source"}
    assert metadata.read_manifest(files)[0].name == "ours"
    del files["charm.yaml"]
    assert metadata.read_manifest(files)[0].name == "theirs"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("colour: red", "charm.yaml: colour is not a field that is known here; known are "),
        ("provide: {}", "charm.yaml: provide is not a field that is known here; did you mean provides?"),
        (
            "actions: {backup: {colour: red}}",
            "charm.yaml: actions.backup.colour is not a field that is known here; known",
        ),
        ("payloads: {a: {type: b}}", "charm.yaml: payloads is not a field that is known here; it is not used"),
        ("requires: {db: {interface: x, tls: no}}", "charm.yaml: requires.db.tls is not a field"),
        (
            "storage: {data: {read-only: true}}",
            "charm.yaml: storage.data.read-only is not a field that is known here; it",
        ),
        (
            "resources: {site: {type: file, size: 1}}",
            "charm.yaml: resources.site.size is not a field that is known here",
        ),
        ("config: {options: {a: {defualt: 1}}}", "charm.yaml: config.options.a.defualt is not a field"),
    ],
)
def test_what_is_not_used_is_a_warning(text: str, warning: str) -> None:
    (found,) = warned(f"name: web\n{text}\n")
    assert found.startswith(warning)


def test_a_field_without_a_value_counts_as_left_out() -> None:
    assert read("name: web\nprovides:\nrequires: ~\nstorage:\nconfig:\nsummary:\n") == Manifest(name="web")


BAD = [
    # The file itself.
    ("", "charm.yaml: has 0 documents; write one"),
    ("--- \nname: a\n---\nname: b\n", "charm.yaml: has 2 documents; write one"),
    ("[]", "must be an object with name, kind"),
    ("just text", "must be an object with name, kind"),
    ("name: web\nname: web2", "line 2: "),
    ("name: [", "line 1: "),
    ("a: &a [*a]\nname: web", "charm.yaml"),
    ("name: web\n\ttabs: here", "line 2: "),
    ("name: \x01", "has the control character \\u0001"),
    ("name: web\nsummary: .nan", "charm.yaml"),
    # The name.
    ("summary: no name", "charm.yaml.name: line 1: must be given"),
    ("name:", "charm.yaml.name: line 1: must be given"),
    ("name: Web", '"Web" is not a name; use a-z'),
    ("name: 9web", '"9web" is not a name'),
    ("name: web-", '"web-" is not a name'),
    ("name: a--b", '"a--b" is not a name'),
    ("name: ../web", '"../web" is not a name'),
    ("name: ''", '"" is not a name'),
    (f"name: {'a' * 54}", "at most 53 characters"),
    ("name: 5", "charm.yaml.name: line 1: must be text, and not a number; put quotes around it"),
    ("name: [web]", "must be text, and not a list"),
    # Kind, profile, texts.
    ("name: web\nkind: ops", "charm.yaml.kind: is ops, which does not read charm.yaml; write metadata.yaml or"),
    ("name: web\nkind: wasm", 'charm.yaml.kind: line 2: "wasm" is not known; write native or scripts'),
    ("name: web\nkind: NATIVE", "write native or scripts"),
    ("name: web\nkind: 1", "charm.yaml.kind: line 2: must be text"),
    ("name: web\nprofile: strict", '"strict" is not known; write literal or juju'),
    ("name: web\nsummary: {}", "charm.yaml.summary: line 2: must be text, and not an object"),
    (f"name: web\nsummary: {'a' * 65_537}", "has 65,537 bytes; at most 65,536 are allowed"),
    ("name: web\ndescription: true", "charm.yaml.description: line 2: must be text"),
    # What Tinkwell does not have.
    ("name: web\ncontainers: {web: {}}", "charm.yaml.containers: line 2: is for workloads on Kubernetes"),
    ("name: web\ndevices: {gpu: {}}", "charm.yaml.devices"),
    ("name: web\ndeployment: {type: stateless}", "charm.yaml.deployment"),
    ("name: web\nconstraints: mem=4G", "machines are not chosen by constraints; leave it out"),
    ("name: web\nspaces: [dmz]", "there are no network spaces; leave it out"),
    ("name: web\ntype: bundle", "must be charm; a bundle is deployed charm by charm"),
    ("name: web\nsubordinate: true", "there are no subordinates: relate two ordinary applications"),
    ("name: web\nseries: [kubernetes]", "charm.yaml.series: line 2: has kubernetes"),
    (
        "name: web\nassumes: [k8s-api]",
        "charm.yaml.assumes[0]: line 2: has k8s-api, and Tinkwell does not run workloads",
    ),
    ("name: web\nassumes: [juju >= 3.1, {all-of: [juju < 4, k8s-api]}]", "charm.yaml.assumes[1]: line 2: has k8s-api"),
    (
        "name: web\nassumes: [juju >= 4.0]",
        "asks for juju >= 4.0, and charms run here as under Juju 3.6.9; take another",
    ),
    ("name: web\nassumes: [{any-of: [juju < 3, juju > 3.6.9]}]", "asks for juju < 3, and charms run here as under"),
    ("name: web\nassumes: [gpu]", 'asks for "gpu", which Tinkwell does not have; take a charm that does without it'),
    ("name: web\nassumes: juju >= 3", "charm.yaml.assumes: line 2: must be a list such as [juju >= 3.1], and not a"),
    ("name: web\nassumes: [{any-of: []}]", "must be a feature such as juju >= 3.1, or one of any-of and all-of with"),
    (
        "name: web\nresources: {image: {type: oci-image}}",
        "charm.yaml.resources.image.type: line 2: is oci-image",
    ),
    ("name: web\nresources: {a: {type: magic}}", '"magic" is not known; write file'),
    ("name: web\nresources: [a]", "charm.yaml.resources: line 2: must be an object, and not a list"),
    ("name: web\nresources: {a: {type: file, filename: ../a}}", '"../a" is not the name of a file; write it without'),
    ("name: web\nextra-bindings: [a]", "charm.yaml.extra-bindings: line 2: must be an object, and not a list"),
    # Actions.
    ("name: web\nactions: [a]", "charm.yaml.actions: line 2: must be an object, and not a list"),
    ("name: web\nactions: {Backup: {}}", '"Backup" is not a name; use a-z, 0-9'),
    ("name: web\nactions: {juju-run: {}}", "names that begin with juju- are reserved; give the action another one"),
    ("name: web\nactions: {a: 1}", "must be an object with description, params"),
    ("name: web\nactions: {a: {description: 1}}", "must be text, and not a number; put quotes around it"),
    (
        "name: web\nactions: {a: {params: [b]}}",
        "charm.yaml.actions.a.params: line 2: must be an object, and not a list",
    ),
    ("name: web\nactions: {a: {params: {b c: {}}}}", '"b c" is not the name of a parameter; use letters'),
    ("name: web\nactions: {a: {params: {b: text}}}", "must be an object such as {type: string}, and not the text"),
    ("name: web\nactions: {a: {params: {b: {type: int}}}}", "must be one of string, integer, number, boolean"),
    ("name: web\nactions: {a: {params: {b: {enum: 1}}}}", "params.b.enum: line 2: must be a list of values, and not a"),
    ("name: web\nactions: {a: {params: {b: {$ref: x}}}}", "is not followed; write the schema itself in its place"),
    (
        "name: web\nactions: {a: {params: {b: {items: {type: x}}}}}",
        "params.b.items.type: line 2: must be one of string",
    ),
    (
        "name: web\nactions: {a: {params: {b: {type: integer, default: '1'}}}}",
        'params.b.default: line 2: must be a whole number, and not the text "1"',
    ),
    ("name: web\nactions: {a: {params: {b: {enum: [x], default: y}}}}", 'default: line 2: must be one of "x"'),
    ("name: web\nactions: {a: {required: b}}", "charm.yaml.actions.a.required: line 2: must be a list"),
    ("name: web\nactions: {a: {additionalProperties: 1}}", "must be true or false, and not a number"),
    # Endpoints.
    ("name: web\nprovides: [site]", "charm.yaml.provides: line 2: must be an object, and not a list"),
    ("name: web\nprovides: {Site: http}", '"Site" is not a name; use a-z, 0-9 and single - or _'),
    ("name: web\nprovides: {site-: http}", '"site-" is not a name'),
    ("name: web\nprovides: {juju-info: {interface: http}}", "names that begin with juju- are reserved"),
    ("name: web\nprovides: {site: {}}", "charm.yaml.provides.site.interface: line 2: must be given"),
    ("name: web\nprovides: {site: null}", "must be an object with interface, limit, optional, scope, and not null"),
    ("name: web\nprovides: {site: 1}", "must be an object with interface"),
    ("name: web\nprovides: {site: {interface: a b}}", '"a b" is not a name; use letters'),
    ("name: web\nprovides: {site: juju-info}", "interfaces that begin with juju- are reserved"),
    ("name: web\nprovides: {db: a}\nrequires: {db: a}", "db is in provides, too; give each endpoint a name of its own"),
    ("name: web\nrequires: {db: a}\npeers: {db: a}", "charm.yaml.peers.db: line 3: db is in requires, too"),
    ("name: web\nrequires: {db: {interface: a, limit: -1}}", "is -1; it must be from 0 to 10,000"),
    ("name: web\nrequires: {db: {interface: a, limit: one}}", "must be a whole number from 0 to 10,000"),
    ("name: web\nrequires: {db: {interface: a, optional: maybe}}", "must be true or false"),
    ("name: web\nrequires: {db: {interface: a, scope: container}}", "there are no subordinates; leave it out"),
    ("name: web\nrequires: {db: {interface: a, scope: local}}", '"local" is not known; leave it out'),
    # Storage.
    ("name: web\nstorage: {Data: {}}", '"Data" is not a name'),
    ("name: web\nstorage: {data: filesystem}", "must be an object with type, description, multiple, shared"),
    ("name: web\nstorage: {data: {type: block}}", "a storage is a folder of the machine: write filesystem"),
    ("name: web\nstorage: {data: {type: tape}}", '"tape" is not known; write filesystem'),
    ("name: web\nstorage: {data: {shared: true}}", "a storage belongs to one unit: leave it out"),
    (
        "name: web\nstorage: {data: {multiple: 2}}",
        "charm.yaml.storage.data.multiple: line 2: must be an object",
    ),
    (
        "name: web\nstorage: {data: {multiple: {}}}",
        "charm.yaml.storage.data.multiple.range: line 2: must be given",
    ),
    ("name: web\nstorage: {data: {multiple: {range: many}}}", "must be a range such as 2, 0-3 or 1-, and not the text"),
    ("name: web\nstorage: {data: {multiple: {range: -1}}}", "must be a range such as 2, 0-3 or 1-"),
    ("name: web\nstorage: {data: {multiple: {range: 3-1}}}", '"3-1" allows none; end it with a number from 3 on'),
    ("name: web\nstorage: {data: {multiple: {range: 0}}}", '"0" allows none; end it with a number from 1 on'),
    ("name: web\nstorage: {data: {multiple: {range: 101-}}}", "begins with 101; at most 100 are made for each unit"),
    # Options.
    ("name: web\nconfig: []", "charm.yaml.config: line 2: must be an object"),
    ("name: web\nconfig: {options: [a]}", "charm.yaml.config.options: line 2: must be an object"),
    ("name: web\nconfig: {options: {a b: {}}}", '"a b" is not a name; use letters, digits'),
    ("name: web\nconfig: {options: {a: 1}}", "must be an object with type, default"),
    (
        "name: web\nconfig: {options: {a: {type: list}}}",
        '"list" is not known; write one of string, int, float, boolean',
    ),
    ("name: web\nconfig: {options: {a: {type: secret, default: b}}}", "is the name of a secret, which a charm cannot"),
    (
        "name: web\nconfig: {options: {a: {type: int, default: '2'}}}",
        'a whole number, and not the text "2"; write it w',
    ),
    ("name: web\nconfig: {options: {a: {type: int, default: 1.5}}}", "must be a whole number, and not a number"),
    ("name: web\nconfig: {options: {a: {type: int, default: true}}}", "must be a whole number, and not true"),
    ("name: web\nconfig: {options: {a: {type: int, default: 9223372036854775808}}}", "does not fit in 64 bits"),
    ("name: web\nconfig: {options: {a: {type: float, default: high}}}", 'must be a number, and not the text "high"'),
    ("name: web\nconfig: {options: {a: {type: boolean, default: 1}}}", "must be true or false, and not a number"),
    ("name: web\nconfig: {options: {a: {type: string, default: 1}}}", "must be text, and not a number"),
    ("name: web\nconfig: {options: {a: {type: string, default: [1]}}}", "must be text, and not a list"),
    ("name: web\nconfig: {options: {a: {minimum: 1}}}", "is for numbers, and the option is a string; leave it out"),
    (
        "name: web\nconfig: {options: {a: {type: int, minimum: 3, maximum: 2}}}",
        "is 3, and maximum 2; no value lies between",
    ),
    ("name: web\nconfig: {options: {a: {type: int, minimum: 3, default: 2}}}", "is 2; it must be at least 3"),
    ("name: web\nconfig: {options: {a: {type: float, maximum: 0.5, default: 0.6}}}", "is 0.6; it must be at most 0.5"),
    ("name: web\nconfig: {options: {a: {description: 1}}}", "must be text, and not a number; put quotes around it"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_a_bad_manifest_is_refused_with_one_clear_sentence(text: str, sentence: str) -> None:
    (found,) = refused({"charm.yaml": text})
    assert sentence in re.sub(", column [0-9]+:", ":", found)


def test_too_many_of_anything_are_refused() -> None:
    endpoints = "\n".join(f"  e{number}: a" for number in range(201))
    (found,) = refused({"charm.yaml": f"name: web\nprovides:\n{endpoints}\n"})
    assert "has 201 endpoints; at most 200 are allowed" in found
    storages = "\n".join(f"  e{number}: {{}}" for number in range(101))
    (found,) = refused({"charm.yaml": f"name: web\nstorage:\n{storages}\n"})
    assert "has 101 storages; at most 100 are allowed" in found
    options = "\n".join(f"  e{number}: {{}}" for number in range(1_001))
    (found,) = refused({"metadata.yaml": "name: web", "config.yaml": f"options:\n{options}\n"})
    assert found.startswith("config.yaml.options: line 1")
    assert "has 1,001 options; at most 1,000 are allowed" in found
    actions = "\n".join(f"e{number}: {{}}" for number in range(201))
    (found,) = refused({"metadata.yaml": "name: web", "actions.yaml": actions})
    assert "has 201 actions; at most 200 are allowed" in found


def test_all_that_is_wrong_in_both_files_is_told_at_once() -> None:
    found = refused(
        {
            "metadata.yaml": "name: WEB\nkind: x",
            "config.yaml": "options: {a: {type: b}}",
            "actions.yaml": "b: {description: 1}",
        }
    )
    assert [sentence.split(":")[0] for sentence in found] == [
        "metadata.yaml.name",
        "metadata.yaml.kind",
        "config.yaml.options.a.type",
        "actions.yaml.b.description",
    ]


def test_a_package_without_a_manifest_is_refused() -> None:
    assert refused({"README.md": ""}) == ["charm.yaml: is missing; write one with the name of the charm in it"]
