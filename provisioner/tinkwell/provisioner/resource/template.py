"""The files of a new type of resources. %NAME%, %LAST%, %CLASS%, %DIR% and %IMAGES% are replaced.

`%NAME%` is the name of the image and `%LAST%` its last part, `%DIR%` the folder of the type as it was given, and
`%IMAGES%` the one in which that is called by the image's name.
"""

from collections.abc import Mapping

RUN = '''#!/usr/bin/env python3
"""%CLASS%: a text file in the folder of the plug `files`."""

from dataclasses import dataclass, field

from kit import Action, Plug, Resource, action, difference, run


@dataclass
class Config:
    """What a manifest says of one; `metadata` adds to the JSON Schema of a field."""

    name: str = field(metadata={"pattern": "^[A-Za-z0-9_-]+$"})
    text: str = "Hello, world!"


class %CLASS%(Resource):
    """One file, in one call of this program."""

    config: Config
    plugs = [Plug("files", "/files", writable=True)]

    @property
    def path(self):
        return self.plug("files") / f"{self.config.name}.txt"

    async def discover(self):
        """Say what is there, and change nothing."""
        if not self.path.exists():
            return None
        return {"name": self.config.name, "text": self.path.read_text(encoding="utf-8"), "path": str(self.path)}

    def actions(self, found):
        """Say what is to be done about it."""
        is_right = found is not None and not difference(self.config, found)
        return [] if is_right else [Action("write")]

    @action("write", "Write the file")
    async def write(self):
        print(f"writing {self.path}")
        self.path.write_text(self.config.text, encoding="utf-8")

    async def destroy(self):
        """Remove it, and bear that it is gone already."""
        self.path.unlink(missing_ok=True)


if __name__ == "__main__":
    run(%CLASS%)
'''

DOCKERFILE = """ARG BASE=python:3-alpine
FROM ${BASE}
COPY run kit.py /resource/
ENTRYPOINT ["/resource/run"]
"""

CONFIG = """{
  "name": "%LAST%",
  "text": "Hello, world!"
}
"""

RELEASE = """plugs:
  files:
    path: files
resources:
  mine:
    type: %NAME%:v1
    config:
      name: %LAST%
      text: Hello, world!
"""

README = """# %NAME%

`run` is the type. It uses the kit, `kit.py`: leave that as it is. `config.json` is the config for its test, and
`release.yaml` the manifest of a release with one such resource. As a process, without Docker:

```
tinkwell resource test %DIR% --config %DIR%/config.json
tinkwell dev --process-images %IMAGES%
tinkwell release apply %LAST% %DIR%/release.yaml
```

In a container:

```
docker build -t %NAME%:v1 %DIR%
tinkwell resource test %NAME%:v1 --config %DIR%/config.json
tinkwell dev --runtime docker
tinkwell release apply %LAST% %DIR%/release.yaml
```

By hand, a call is a JSON object on standard input:

```
echo '{"config": {"name": "a"}}' | TINKWELL_PLUG_FILES=/tmp %DIR%/run state
```
"""

FILES: Mapping[str, str] = {
    "run": RUN,
    "Dockerfile": DOCKERFILE,
    "README.md": README,
    "config.json": CONFIG,
    "release.yaml": RELEASE,
}
# Those that are programs.
EXECUTABLE = frozenset({"run"})
