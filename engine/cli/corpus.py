"""`flowrun corpus`: corpora of design references."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.corpus_progress import progress
from engine.cli.plain import plain
from engine.errors import InputError, Stopped

if TYPE_CHECKING:
    from engine.retrieval.base import Embedder
    from engine.retrieval.building import Outcome
    from engine.retrieval.corpus import Corpus

_MAKER = "nodes.references.maker:ReferenceMaker"
maker_option = click.option(
    "--maker", default=_MAKER, show_default=True, metavar="MODULE:NAME", help="Makes the chunks."
)
json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")


def with_thresholds(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what is alike."""
    for name, value, what in (
        ("duplicate", 0.8, "READMEs of two repositories are nearly the same"),
        ("manifest", 0.8, "dependencies overlap a target's"),
        ("readme", 0.2, "a README overlaps a target's"),
    ):
        kind = click.FloatRange(0, 1.01)
        help_text = f"From which similarity on {what}, 0 to 1."
        command = click.option(
            f"--{name}-similarity", name, type=kind, default=value, show_default=True, help=help_text
        )(command)
    return command


@click.group()
def corpus() -> None:
    """Build corpora of design references from repositories; search and check them."""


@corpus.command("build")
@click.argument("name")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--exclude-targets", type=click.Path(path_type=Path), metavar="FILE", help="A list of benchmark targets.")
@click.option("--embeddings", metavar="MODEL", help="An embedding model's name.  [default: local]")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint; key in OPENAI_API_KEY.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Processes.  [default: one per core]")
@with_thresholds
@maker_option
@click.option("--quiet", "-q", is_flag=True, help="Only failures and the summary.")
def build_command(
    name: str,
    sources: Sequence[str],
    exclude_targets: Path | None,
    embeddings: str | None,
    base_url: str | None,
    jobs: int | None,
    maker: str,
    quiet: bool,
    **thresholds: float,
) -> int:
    """Bring repositories into the corpus NAME (or into a folder, if it holds a "/"), and make it if it is not there.

    \b
    SOURCE is   PATH             a checkout, a folder of checkouts, or an archive
                URL              a Git repository
                pypi:NAME[==V]   the source archive of a package; nothing in it is run
                installed:NAME   a distribution of the running environment
                @FILE            a list of sources, one a line

    What did not change is not read again; a build that was stopped goes on when it is started again. Forks, archived
    projects, templates, copies, and what overlaps a benchmark target stay out.
    """
    import asyncio
    import os

    from engine.retrieval.building import build_corpus
    from engine.retrieval.making import open_maker

    made = open_maker(maker, exclude_targets, **thresholds)
    expanded = made.expand(sources)
    opened = _open_or_create(name, embeddings, base_url, made.chunking)
    told: list[Outcome] = []
    with progress(len(expanded), quiet) as advance:

        def tell(outcome: Outcome) -> None:
            told.append(outcome)
            advance(outcome)

        try:
            asyncio.run(build_corpus(opened, made, expanded, jobs or os.cpu_count() or 1, tell))
        except KeyboardInterrupt:
            raise Stopped("stopped; the same command goes on from here") from None
    return _conclude(opened, told)


@corpus.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """The corpora, by name."""
    import asyncio

    from engine.retrieval.corpora import corpora_folder, list_corpora
    from engine.retrieval.corpus import Corpus

    found: list[dict[str, Any]] = []
    for folder in list_corpora():
        try:
            found.append(asyncio.run(_about(Corpus.open(folder))))
        except InputError as error:
            found.append({"name": folder.name, "error": str(error)})
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    for one in found:
        click.echo(plain(f"{one['name']:<20} {one.get('error') or _sizes(one)}"))
    if not found:
        click.echo(f"no corpora in {corpora_folder()}", err=True)


@corpus.command("show")
@click.argument("name")
@json_option
def show_command(name: str, as_json: bool) -> None:
    """What is in the corpus NAME, what was kept out, and why."""
    import asyncio
    from dataclasses import asdict

    from engine.retrieval.building import read_excluded

    opened = _open(name)
    about = asyncio.run(_about(opened))
    entries = asyncio.run(opened.repositories())
    excluded = read_excluded(opened)
    if as_json:
        listed = [{k: getattr(one, k) for k in ("repository", "origin", "licence", "chunks")} for one in entries]
        kept_out = [asdict(one) for one in excluded]
        click.echo(json.dumps({**about, "contents": listed, "excluded": kept_out}, ensure_ascii=False, indent=2))
        return
    click.echo(plain(f"{about['name']}: {_sizes(about)}"))
    for entry in entries:
        click.echo(plain(f"  {entry.repository:<32} {entry.chunks:>4} chunks  {entry.licence or 'licence unknown'}"))
    for one in excluded:
        click.echo(plain(f"  kept out: {one.repository or one.source}: {one.reason}"))


@corpus.command("rm")
@click.argument("name")
@click.argument("repositories", nargs=-1, metavar="[REPOSITORY...]")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rm_command(name: str, repositories: Sequence[str], yes: bool) -> None:
    """Remove the corpus NAME, or repositories from it."""
    import asyncio
    import shutil

    opened = _open(name)
    what = [f"{one} from {opened.folder}" for one in repositories] or [str(opened.folder)]
    unknown = sorted(set(repositories) - set(asyncio.run(opened.digests()))) if repositories else []
    if unknown:
        raise InputError(f"corpus '{opened.name}' has no repository '{unknown[0]}'; see: flowrun corpus show {name}")
    if not yes:
        click.confirm("remove for good:\n" + "\n".join(f"  {one}" for one in what) + "\n", abort=True)
    if repositories:
        asyncio.run(_remove(opened, repositories))
    else:
        try:
            shutil.rmtree(opened.folder)
        except OSError as error:
            raise InputError(f"{opened.folder}: cannot be removed: {error.strerror}") from error
    for one in what:
        click.echo(plain(f"removed {one}"))


@corpus.command("check")
@click.argument("name")
@click.option("--against", type=click.Path(path_type=Path), metavar="TARGETS", help="A list of benchmark targets.")
@with_thresholds
@maker_option
@json_option
def check_command(name: str, against: Path | None, maker: str, as_json: bool, **thresholds: float) -> int:
    """Look whether the corpus NAME is whole; with --against, which repositories overlap benchmark targets, and why.

    Ends with 1 if something is wrong or would leak.
    """
    import asyncio

    from engine.retrieval.making import open_maker

    opened = _open(name)
    screen = open_maker(maker, against, **thresholds).screen() if against else None
    found = asyncio.run(_faults(opened, screen))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        for one in found:
            click.echo(plain(f"{one['repository']}: {one['target'] + ': ' if one['target'] else ''}{one['reason']}"))
        if not found:
            click.echo("whole; nothing in it overlaps a target" if against else "whole")
    return 1 if found else 0


@corpus.command("search")
@click.argument("name")
@click.argument("query")
@click.option("--mode", type=click.Choice(["vector", "text", "hybrid"]), default="hybrid", show_default=True)
@click.option("-k", "count", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many chunks.")
@click.option("--by-repository", is_flag=True, help="The best chunk of each repository.")
@click.option("--base-url", metavar="URL", help="Where the corpus's embedding model answers.")
@json_option
def search_command(
    name: str, query: str, mode: Any, count: int, by_repository: bool, base_url: str | None, as_json: bool
) -> None:
    """The chunks of the corpus NAME that fit QUERY best."""
    import asyncio
    from dataclasses import asdict

    from engine.retrieval.corpus import Corpus

    opened = _open(name)
    if base_url:
        opened = Corpus.open(opened.folder, _embedder(opened.record.embedder, base_url))
    search = opened.best_by_repository if by_repository else opened.search
    hits = asyncio.run(search(query, count, mode))
    if as_json:
        told = [{**asdict(one.chunk), "score": one.score, "similarity": one.similarity} for one in hits]
        click.echo(json.dumps(told, ensure_ascii=False))
        return
    for one in hits:
        lines = one.chunk.text.split("\n")
        click.echo(plain(f"{one.similarity:5.2f}  {one.chunk.repository}  {one.chunk.kind}"))
        for line in lines[:3]:
            click.echo(plain(f"       {line[:100]}"))
    if not hits:
        click.echo("nothing found", err=True)


def _open(name: str) -> Corpus:
    from engine.flow.suggestion import suggestion
    from engine.retrieval.corpora import corpus_folder, find_corpus, list_corpora
    from engine.retrieval.corpus import Corpus

    folder = find_corpus(name)
    if folder is None:
        known = [one.name for one in list_corpora()]
        raise InputError(
            f"there is no corpus '{name}' ({corpus_folder(name)}){suggestion(name, known) or '.'} "
            f"Build it: flowrun corpus build {name} SOURCE..."
        )
    return Corpus.open(folder)


def _open_or_create(name: str, model: str | None, base_url: str | None, chunking: Any) -> Corpus:
    from engine.retrieval.corpora import corpus_folder, find_corpus
    from engine.retrieval.corpus import Corpus

    folder = corpus_folder(name)
    if find_corpus(name) is None:
        return Corpus.create(folder, folder.resolve().name, _embedder(model, base_url), chunking=chunking)
    opened = Corpus.open(folder)
    if model or base_url:
        opened = Corpus.open(folder, _embedder(model or opened.record.embedder, base_url))
    return opened


def _embedder(model: str | None, base_url: str | None) -> Embedder:
    from engine.retrieval.embeddings import LOCAL, open_embedder

    return open_embedder(model or LOCAL, base_url=base_url)


def _conclude(opened: Corpus, told: Sequence[Outcome]) -> int:
    """Print what came of a build; 1 if nothing is in the corpus, or nothing of what was named could be read."""
    import asyncio
    from collections import Counter

    counts = Counter[str](one.status for one in told)
    words = ("added", "changed", "unchanged", "excluded", "failed")
    about = asyncio.run(_about(opened))
    click.echo(f"{', '.join(f'{counts[word]} {word}' for word in words if counts[word])}; {_sizes(about)}")
    click.echo(plain(f"corpus '{opened.name}' in {opened.folder}"))
    return 1 if not about["repositories"] or counts["failed"] == len(told) else 0


async def _about(opened: Corpus) -> dict[str, Any]:
    entries = await opened.repositories()
    record = opened.record
    return {
        "name": opened.name,
        "folder": str(opened.folder),
        "repositories": len(entries),
        "chunks": sum(one.chunks for one in entries),
        "embedder": record.embedder,
        "created": record.created,
        "finished": record.finished,
    }


def _sizes(about: dict[str, Any]) -> str:
    half = "" if about["finished"] else "; half-built: run the build again"
    return f"{about['repositories']} repositories, {about['chunks']} chunks, embedder {about['embedder']}{half}"


async def _remove(opened: Corpus, repositories: Sequence[str]) -> None:
    async with opened.writing():
        for one in repositories:
            await opened.remove(one)
        await opened.finish()


async def _faults(opened: Corpus, screen: Any) -> list[dict[str, str]]:
    """What is wrong with a corpus, and which repositories overlap targets."""
    found = [{"repository": opened.name, "target": "", "reason": why} for why in await opened.check()]
    for entry in await opened.repositories() if screen else ():
        for target, why in screen.leaks(await opened.chunks(entry.repository)):
            found.append({"repository": entry.repository, "target": target, "reason": why})
    return found


COMMANDS = (corpus,)
