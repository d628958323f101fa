"""Errors between the judge and a worker.

CouldNotRunError    no worker could be started: our fault, and the submission is not judged
SubmissionError     the submission's code raised an exception
NoAdaptersError     importing the submission ended the worker, or took too long
WorkerLostError     the worker ended, hung, or sent an answer that cannot be used
"""


class CouldNotRunError(OSError):
    """No worker could be started: the system refused, or the zygote is gone."""


class SubmissionError(Exception):
    """The submission's code raised an exception; the judge has its text alone.

    Attributes:
        type_name: the name of the exception's type.
        text: the exception's text.
        facts: the whole message.
        places: where in the submission it was raised, as "file:line", outermost first.
        missing: the packages or versions that the environment lacks, in words, if that is the
            reason.
        nothing_ran: True if it was raised before any adapter could be called.
    """

    def __init__(
        self,
        what: str,
        type_name: str,
        text: str,
        places: tuple[str, ...],
        missing: str | None,
        *,
        nothing_ran: bool = False,
    ) -> None:
        self.type_name = type_name
        self.text = text
        self.places = places
        self.missing = missing
        self.nothing_ran = nothing_ran
        where = f" (at {places[-1]})" if places else ""
        said = f": {text}" if text else ""
        self.facts = f"{what} raised {type_name}{said}{where}"
        super().__init__(self.facts)


class NoAdaptersError(Exception):
    """There is no worker to call adapters in: importing them ended it, or no time is left.

    It is raised where a check's fixtures are made, where pytest can handle nothing but exceptions.

    Attributes:
        facts: why, in words.
        nothing_ran: as in a ``SubmissionError``.
    """

    nothing_ran = True

    def __init__(self, reason: str) -> None:
        self.facts = f"There is nothing to check: {reason}."
        super().__init__(reason)


class WorkerLostError(BaseException):
    """There is no answer. No ``Exception``: a check must not catch it as one of the submission's.

    Attributes:
        facts: why, in words.
    """

    def __init__(self, reason: str) -> None:
        self.facts = f"There is no result: {reason}."
        super().__init__(reason)


def submission_error(
    what: str, answer: dict[str, object], *, nothing_ran: bool = False
) -> SubmissionError:
    """Return the exception that a worker describes.

    Args:
        what: the name of the call, as in "Your run_rope".
        answer: the worker's message; nothing in it is relied on.
        nothing_ran: as in a ``SubmissionError``.
    """
    found = answer.get("places")
    missing = answer.get("missing")
    return SubmissionError(
        what,
        str(answer.get("type")),
        str(answer.get("text")),
        tuple(map(str, found)) if isinstance(found, list) else (),
        missing if isinstance(missing, str) else None,
        nothing_ran=nothing_ran,
    )
