"""A judge that learns the answers once, and then judges many submissions, each in a fork."""

import importlib
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest

from cs336_grader.records import Outcome

from .diagnosis import Scope
from .expected import RecordedValues
from .judge import Judge
from .suite import AdaptersSource, Suite, SuiteError, check_name


class Nowhere:
    """Where adapters come from before there is a submission."""

    def adapters_for(self, request: pytest.FixtureRequest) -> Any:
        """None: nothing is judged yet."""
        raise NotImplementedError(request.node.name)

    def use_new_worker(self) -> bool:
        """No case has run."""
        return False


class PreparedJudge(Judge):
    """Collects a suite and records all expected values before any submission is there.

    Args:
        suite: what may be asked for.
        catalogue: the module that holds known mistakes, or none.
        ready: called when all is learnt; forks, has ``judge_one`` called in the forks, and returns
            when there is nothing more to judge.
    """

    def __init__(self, suite: Suite, catalogue: str | None, ready: Callable[[], None]) -> None:
        super().__init__(suite, Nowhere(), RecordedValues())
        self.catalogue = catalogue
        self.ready = ready
        self.session: pytest.Session | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Learn, and let others judge; here nothing is."""
        if session.testsfailed:
            # It cannot be collected, as pytest will say.
            return
        self.session = session
        for item, following in with_following(session.items):
            self.record(item)
            session._setupstate.teardown_exact(following)
        if self.catalogue is not None:
            importlib.import_module(self.catalogue)
        self.ready()
        session.items.clear()

    def judge_one(
        self,
        suite: Suite,
        source: AdaptersSource,
        *,
        scope: Scope | None,
        started: Callable[[str], None],
        finished: Callable[[Outcome], None],
    ) -> None:
        """Judge a submission, once, in a fork.

        Args:
            suite: what was learnt, or a part of it.
            source: as for a judge of one submission.
            scope: the same.
            started: the same.
            finished: the same.

        Raises:
            KeyboardInterrupt: the run was told to stop.
            SuiteError: another suite was learnt.
        """
        learnt = self.suite
        same = (suite.folder, suite.seed) == (learnt.folder, learnt.seed)
        if self.session is None or not (same and suite.checks.items() <= learnt.checks.items()):
            raise SuiteError("the process that judges is prepared for other checks")
        self.source, self.scope, self.started, self.finished = source, scope, started, finished
        renew_temporary_folders(self.session.config)
        items = [item for item in self.session.items if check_name(item) in suite.checks]
        for item, following in with_following(items):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def renew_temporary_folders(config: pytest.Config) -> None:
    """Have pytest's temporary folders made where the environment now says."""
    config._tmp_path_factory = pytest.TempPathFactory.from_config(  # type: ignore[attr-defined]
        config, _ispytest=True
    )


def with_following(items: Iterable[pytest.Item]) -> Iterable[tuple[pytest.Item, Any]]:
    """Each item with the next one; the last with None."""
    return pairwise([*items, None])  # type: ignore[list-item]  # None ends them
