"""Encoding a text file into a token file: in parallel, in bounded memory, in parts that last.

A journal says after each chunk how far the tokens go, so that the next call takes up what was
interrupted.
"""

import itertools
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cs336_basics.files import naming, read_json, replacing, write_json
from cs336_basics.pretokenization import (
    CHUNK_BYTES,
    MAX_WORKERS,
    find_chunk_boundaries,
    read_chunk,
    size_of_text,
)
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.training.tokens import (
    END_OF_TEXT,
    load_tokenizer,
    read_facts,
    vocabulary_digest,
    write_facts,
)


@dataclass(frozen=True)
class Encoding:
    """The encoding of one text file.

    Attributes:
        text: a UTF-8 file.
        vocabulary: the folder of the tokenizer's files.
        out: the token file.
        workers: processes; the result is the same for any number.
        chunk_bytes: how much text a process takes at once.
    """

    text: Path
    vocabulary: Path
    out: Path
    workers: int = 1
    chunk_bytes: int = CHUNK_BYTES

    @property
    def journal(self) -> Path:
        """The file that says how much is done, until all is done."""
        return self.out.with_suffix(".unfinished.json")

    @property
    def unfinished(self) -> Path:
        """The tokens so far, without a header."""
        return self.out.with_suffix(".unfinished")

    def identity(self) -> dict[str, Any]:
        """Return the facts that must be unchanged for an interrupted encoding to continue."""
        files = (self.text, self.vocabulary / "vocab.json", self.vocabulary / "merges.txt")
        stats = [file.stat() for file in files]
        return {
            "files": [[stat.st_size, stat.st_mtime_ns] for stat in stats],
            "chunk_bytes": self.chunk_bytes,
        }


def encode_file(job: Encoding, report: Callable[[int, int], None]) -> int:
    """Encode a text file and return the number of tokens.

    What an interrupted call has done is kept, and the next one goes on from there.

    Args:
        job: What and where.
        report: Called with the bytes of text that are encoded and those that there are.

    Raises:
        OSError: the text or the vocabulary is missing, or the disk is full.
        ValueError: the text is empty or not UTF-8.
    """
    require_text(job.text)
    boundaries = find_chunk_boundaries(job.text, [END_OF_TEXT], job.chunk_bytes)
    dtype = token_dtype(max(load_tokenizer(job.vocabulary).vocab))
    chunks_done, tokens_done = progress_so_far(job, dtype)
    report(boundaries[chunks_done], boundaries[-1])
    mode = "r+b" if chunks_done else "w+b"
    with naming(job.unfinished), job.unfinished.open(mode) as file:
        file.truncate(tokens_done * dtype.itemsize)
        file.seek(0, os.SEEK_END)
        chunks = list(itertools.pairwise(boundaries))[chunks_done:]
        for ids in encode_chunks(job, chunks):
            file.write(np.array(ids, dtype=dtype).tobytes())
            file.flush()
            chunks_done, tokens_done = chunks_done + 1, tokens_done + len(ids)
            entry = {"identity": job.identity(), "chunks": chunks_done, "tokens": tokens_done}
            write_json(job.journal, entry)
            report(boundaries[chunks_done], boundaries[-1])
    finish(job, dtype, tokens_done)
    return tokens_done


def require_text(path: Path) -> None:
    """Refuse a text that is empty or cannot be read twice.

    Raises:
        OSError: there is no such file.
        ValueError: it is empty, or no regular file.
    """
    if size_of_text(path) == 0:
        raise ValueError(f"{path} is empty")


def token_dtype(largest_id: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the smallest type that can hold the largest id."""
    return np.dtype("<u2" if largest_id < 2**16 else "<u4")


def progress_so_far(job: Encoding, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the numbers of chunks and tokens that an interrupted call of this job has written."""
    try:
        entry = read_json(job.journal)
        chunks, tokens = int(entry["chunks"]), int(entry["tokens"])
        whole = job.unfinished.stat().st_size >= tokens * dtype.itemsize
        if whole and entry["identity"] == job.identity():
            return chunks, tokens
    except (OSError, ValueError, LookupError):
        pass  # nothing to go on from
    return 0, 0


def encode_chunks(job: Encoding, chunks: list[tuple[int, int]]) -> Iterator[list[int]]:
    """Yield the token ids of each chunk, in order."""
    tasks = [(job.text, start, end) for start, end in chunks]
    workers = min(job.workers, len(tasks), MAX_WORKERS)
    if workers <= 1:
        tokenizer = load_tokenizer(job.vocabulary)
        yield from (encode_chunk(tokenizer, *task) for task in tasks)
        return
    # Spawned, for a fork of a process with threads (torch has some) can hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, set_up_worker, (job.vocabulary,)) as executor:
        try:
            yield from executor.map(encode_in_worker, tasks)
        finally:
            executor.shutdown(cancel_futures=True)


def encode_chunk(tokenizer: Tokenizer, path: Path, start: int, end: int) -> list[int]:
    """Encode the bytes of a file from start to end, as in read_chunk."""
    return tokenizer.encode(read_chunk(path, start, end))


worker_tokenizer: list[Tokenizer] = []


def set_up_worker(vocabulary: Path) -> None:
    """Read the tokenizer once in each worker."""
    worker_tokenizer[:] = [load_tokenizer(vocabulary)]


def encode_in_worker(task: tuple[Path, int, int]) -> list[int]:
    """Encode one chunk with the worker's own tokenizer."""
    return encode_chunk(worker_tokenizer[0], *task)


def finish(job: Encoding, dtype: np.dtype[Any], num_tokens: int) -> None:
    """Give the tokens their header and their name, and say what they were made of."""
    header = {"descr": dtype.str, "fortran_order": False, "shape": (num_tokens,)}
    # Not through a memory map: that of a file on a full disk ends the process without a word.
    facts, size = read_facts(job.text), job.text.stat().st_size
    known = {
        "tokens": num_tokens,
        "bytes": size,
        # The facts may be those of another text, if whoever wrote this one was killed in between.
        "nats": facts.get("nats") if facts.get("bytes") == size else None,
        "vocabulary": vocabulary_digest(job.vocabulary),
    }
    with replacing(job.out) as target, job.unfinished.open("rb") as source:
        np.lib.format.write_array_header_1_0(target, header)
        shutil.copyfileobj(source, target)
        target.flush()
        write_facts(job.out, known)
    job.unfinished.unlink()
    job.journal.unlink(missing_ok=True)
