"""All calls of operators about applications and namespaces."""

from tinkwell.server.database.database import Database
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.request.changing import Changing
from tinkwell.server.unit.service.request.charms import Charms
from tinkwell.server.unit.service.request.deploying import Deploying
from tinkwell.server.unit.service.request.explaining import Explaining
from tinkwell.server.unit.service.request.namespaces import Namespaces
from tinkwell.server.unit.service.request.output import UnitLogs
from tinkwell.server.unit.service.request.reading import Reading
from tinkwell.server.unit.service.request.reap import Reap
from tinkwell.server.unit.service.request.relating import Relating
from tinkwell.server.unit.service.request.removing import Removing
from tinkwell.server.unit.service.request.resolving import Resolving
from tinkwell.server.unit.service.request.storing import Storing
from tinkwell.server.unit.service.secret.asking import Secrets
from tinkwell.server.unit.service.task.asking import Tasks


class ApplicationService:
    """The services for requests about applications. `reap` is called after a request that ends something.

    Without `sealing` there are no secrets. `allows_commands`: units may be asked to run any command.
    """

    def __init__(
        self, database: Database, reap: Reap, *, sealing: SecretService | None = None, allows_commands: bool = False
    ) -> None:
        self.charms = Charms(database)
        self.deploying = Deploying(database, self.charms)
        self.changing = Changing(database, self.charms)
        self.relating = Relating(database, self.charms, reap)
        self.storing = Storing(database, self.charms)
        self.removing = Removing(database, reap)
        self.resolving = Resolving(database, reap)
        self.reading = Reading(database)
        self.explaining = Explaining(database)
        self.logs = UnitLogs(database)
        self.namespaces = Namespaces(database)
        self.tasks = Tasks(database, self.charms, allows_commands=allows_commands)
        self.secrets = Secrets(database, sealing or SecretService(None))
