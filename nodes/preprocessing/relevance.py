"""Which blocks say nothing about the program: tables of contents, navigation, appeals, banners, citations.

What is doubtful stays: a requirement that is lost costs more than a line too many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from nodes.preprocessing.blocks import Block

_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]{0,500}\]){0,1000}\]\((?P<target>[^()\s]{0,2000})[^()]{0,300}\)")
_ADDRESS = re.compile(r"<?(?:https?://|www\.)[^\s<>]{1,2000}>?")
_WORD = re.compile(r"\w+")
_SEVERAL = re.compile(r"\w\W+\w+\W+\w")  # words
_LONG = 2000  # characters; a paragraph of more is prose
_LETTER = re.compile(r"[^\W_]")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|\n")
_SUBJECT = (
    "program|tool|app|application|system|library|package|service|server|client|script|software|command|users?|api|"
    "interface|cli|bot|game|daemon|module|function|class|utility|plugin|page|database"
)
_DOES = (
    "must|shall|should|has to|have to|needs? to|cannot|may not"
    "|(?:creat|writ|stor|remov|delet|updat|validat|generat|pars)es?|(?:read|load|return|print|exit|support|accept|reject|raise|log|send|list)s?"
)
_MUST = "muss|müssen|soll|sollen|doit|doivent|debe|deben|deve|devem|devono|должен|должна|должно|должны"
_NEEDS = (
    r"(?:needs?(?! to\b)|requires?|depends? on|works? (?:with|on)|runs? on)\b[^.!?\n]{0,60}?"
    r"(?:\bpython\b|\bpackages?\b|\bdependenc|\blibrar|`)"
    r"|no (?:[\w-]+ )?(?:packages|dependenc)\w*|standard library only|only the standard library"
)
_BEHAVIOUR = re.compile(
    rf"\b(?:{_SUBJECT})\b[^.!?\n]{{0,60}}\b(?:{_DOES})\b|\b(?:{_MUST})\b"
    rf"|\b(?:{_NEEDS})"
    "|必须|必須|应当|應當|なければなら|해야 (?:한다|합니다)",
    re.IGNORECASE,
)
_APPEAL = re.compile(
    r"\bstar(?:ring)? (?:this|our|the|us|it)\b|buy(?:ing)? me a coffee|buymeacoffee|ko-fi\.com|patreon\.com|paypal\.me"
    r"|\b(?:pull requests?|prs?|contributions?|issues|feedback)\b.{0,60}\b(?:are|is|always) (?:very |more than )?welcom"
    r"|\b(?:open|submit|send|create|file) (?:an? |your )?(?:issues?|prs?|pull requests?)\b|feel free to contribute"
    r"|reach(?:ing)? out|interested in contributing|consider (?:sponsoring|contributing|donating|buying)"
    r"|follow (?:me|us) on|join (?:us|our)\b|cite (?:our|this|the|my) (?:work|paper|project|repository)|good luck"
    r"|^(?:twitter|discord|telegram|email|e-mail|website|blog) ?:|made with (?:❤|love)|help us grow"
    r"|if you (?:really )?(?:like|love|enjoy|find) (?:this|the|my|our|it)\b",
    re.IGNORECASE,
)
# One of these is in whatever _APPEAL finds; looking for them first takes a tenth of the time.
_APPEAL_HINTS = (
    *("star", "buy", "ko-fi", "patreon", "paypal", "welcom", "issue", "pr", "pull", "contribut", "reach", "consider"),
    *(
        "follow",
        "join",
        "cite",
        "luck",
        "twitter",
        "discord",
        "telegram",
        "mail",
        "site",
        "blog",
        "made",
        "help",
        "if you",
    ),
)
_CAPTION = re.compile(r"(?:figure|fig\.|abbildung|图|図)\s*\d+\s*[:.：]", re.IGNORECASE)
_CITATION = re.compile(
    r"\s*@(?:article|misc|inproceedings|software|book|phdthesis|techreport|online|conference)\s*\{", re.I
)
_SETUP = re.compile(
    r"(?:pip3?|pipx|uvx?|poetry|pdm|pipenv|hatch|conda|mamba|micromamba|git|cd|sudo|apt|apt-get|brew|port|nix|nix-env|dnf"
    r"|yum|pacman|apk|zypper|snap|flatpak|choco|scoop|winget|docker|docker-compose|npm|npx|yarn|pnpm|curl|wget|bash|sh"
    r"|source|\.|chmod|chown|mkdir|cp|mv|tar|unzip|export|usermod|systemctl|virtualenv|venv|activate|make|cmake|cargo"
    r"|go|gem|bundle|composer|exit|or|and|pyinstaller|nuitka|py2exe|py2app|briefcase)(?:\s|$)"
    r"|(?:python[0-9.]*|py) -m (?:pip|venv|virtualenv|build|ensurepip|pyinstaller|nuitka)\b"
    r"|\./[\w-]*(?:install|setup|build)",
    re.IGNORECASE,
)
# What fetches and installs, and nothing else: such commands say nothing about the program wherever they stand.
_FETCH = re.compile(
    r"(?:sudo )?(?:(?:pip3?|pipx|uv|poetry|pdm|pipenv|hatch|conda|mamba|micromamba|brew|port|apt|apt-get|dnf|yum|pacman"
    r"|apk|zypper|snap|choco|scoop|winget|npm|yarn|pnpm) (?:\S+ )*?"
    r"(?:install|add|i|-S|update|upgrade|sync|create|activate)(?:\s|$)"
    r"|git clone\s|cd(?:\s|$)|usermod\s|virtualenv\s|python[0-9.]* -m (?:pip|venv|virtualenv|ensurepip)\s"
    r"|source \S*activate\b|\S*[/\\]activate(?:\.\w+)?$|or$|and$|deactivate$)",
    re.IGNORECASE,
)
_PREPARATION = re.compile(
    r"(?:(?:first|then|please|also|and|before (?:you start|that)),? )*"
    r"(?:you (?:\w+ ){0,2}(?:need|have) to |make sure (?:that )?(?:you have |to )?|be sure to )?"
    r"install(?:ed)? (?:(?:the|all|any|required|following|necessary|needed|latest) )*"
    r"(?:python|pip\b|dependenc|requirements?\b|prerequisites?\b|packages?\b|lib\w+|docker|node|conda|poetry)",
    re.IGNORECASE,
)
_CREDIT = re.compile(
    r"this (?:project|package|repository|repo) (?:has been|was|is)"
    r" (?:set up|created|generated|bootstrapped|scaffolded|made) (?:using|with|from|by)\b"
    r".{0,60}\b(?:pyscaffold|cookiecutter|copier|cruft|create-[a-z-]+)\b",
    re.IGNORECASE | re.DOTALL,
)
_JOINT = re.compile(r"&&|;(?:\s|$)|\s\|\s")  # between commands
_PLAIN_CODE = frozenset(
    {"", "bash", "sh", "shell", "zsh", "console", "terminal", "text", "txt", "cmd", "powershell", "bat"}
)


def is_citation(block: Block) -> bool:
    """Whether a code block is a BibTeX entry."""
    return block.kind == "code" and (block.info == "bibtex" or _CITATION.match(block.text) is not None)


def is_banner(block: Block) -> bool:
    """Whether a code block is a picture made of characters."""
    if block.kind != "code" or len(block.lines) < 3:
        return False
    marks = sum(not one.isspace() for one in block.text)
    return len(_LETTER.findall(block.text)) < 0.3 * marks


def is_contents(block: Block) -> bool:
    """Whether a list is a table of contents: every item a link into the document."""
    if block.kind != "list":
        return False
    texts = (inner.text.strip(" *_\t") for item in block.items for inner in item.blocks)
    links = (_LINK.fullmatch(text) for text in texts)
    return all(found and found["target"].startswith("#") for found in links)


def is_navigation(block: Block) -> bool:
    """Whether a paragraph is nothing but several links, or links into the document."""
    if block.kind != "paragraph" or "](" not in block.text or len(block.text) > _LONG:
        return False
    links = list(_LINK.finditer(block.text))
    rest = _ADDRESS.sub("", _LINK.sub("", block.text))
    several = len(links) > 1 or (links and (links[0]["target"][:1] == "#" or "![" in links[0][0]))
    return bool(several) and len(_WORD.findall(rest)) <= len(links) // 2


def is_caption(block: Block) -> bool:
    """Whether a paragraph is the line under a picture."""
    text = block.text.strip(" *_") if block.kind == "paragraph" else ""
    return _CAPTION.match(text) is not None and len(_WORD.findall(text)) < 15


def is_appeal(block: Block) -> bool:
    """Whether every sentence of a paragraph asks the reader for something: a star, a coffee, a pull request."""
    if (
        block.kind not in ("paragraph", "quote")
        or len(block.text) > _LONG
        or "`" in block.text
        or not _may_appeal(block.text)
        or not _APPEAL.search(block.text)
    ):
        return False
    sentences = [one for one in _SENTENCE_END.split(block.text) if len(_WORD.findall(one)) > 3]
    return all(_APPEAL.search(one) for one in sentences) and not _BEHAVIOUR.search(block.text)


def _may_appeal(text: str) -> bool:
    lowered = text.casefold()
    return any(hint in lowered for hint in _APPEAL_HINTS)


def is_fetching(block: Block, title: str) -> bool:
    """Whether a code block does nothing but fetch and install the program or what it needs, wherever it stands.

    A command that names the program, as `title` does, says what it is called.
    """
    if block.kind != "code" or block.info.partition(" ")[0].lower() not in _PLAIN_CODE:
        return False
    commands, name = _commands(block), title.partition(" ")[0].casefold()
    if not commands or not all(_FETCH.match(one) for one in commands) or all(one[:2] == "cd" for one in commands):
        return False
    return len(name) < 3 or not any(name in one.casefold() for one in commands)


def is_preparation(block: Block) -> bool:
    """Whether every sentence of a paragraph tells the reader to install Python or other people's software."""
    if block.kind != "paragraph" or len(block.text) > _LONG or "nstall" not in block.text or "`" in block.text:
        return False
    sentences = [one.strip(" *_") for one in _SENTENCE_END.split(block.text) if _WORD.search(one)]
    return all(_PREPARATION.match(one) for one in sentences) and not _BEHAVIOUR.search(block.text)


def is_credit(block: Block) -> bool:
    """Whether a paragraph says which template the project was made from."""
    return block.kind in ("paragraph", "quote") and len(block.text) < 400 and _CREDIT.search(block.text) is not None


def introduces(block: Block) -> bool:
    """Whether a paragraph is but the words before commands ("run:"), which say nothing without them."""
    text = block.text.strip(" *_")
    short = block.kind == "paragraph" and len(text) < 200 and text.endswith((":", "："))
    return short and "`" not in text and not _BEHAVIOUR.search(text)


def what_it_says(block: Block) -> Block | None:
    """What a block of a doubtful section says about the program; None if nothing. Of a list, the items that do."""
    if block.kind != "list":
        return block if _says(block) else None
    items = tuple(item for item in block.items if any(map(_says, item.blocks)))
    return replace(block, items=items) if items else None


def _says(block: Block) -> bool:
    """Whether a block says what the program has to do or to need, or shows it being used."""
    if block.kind == "code":
        return not is_setup(block) and not is_citation(block)
    return _BEHAVIOUR.search(block.text) is not None


def is_setup(block: Block) -> bool:
    """Whether a code block does nothing but fetch and install things."""
    if block.info.partition(" ")[0].lower() not in _PLAIN_CODE:
        return False
    return all(_SETUP.match(one) for one in _commands(block))


def _commands(block: Block) -> list[str]:
    parts = (part.strip() for line in block.lines for part in _JOINT.split(_command(line)))
    return [part for part in parts if part]


def _command(line: str) -> str:
    text = line.strip().lstrip("$>%➜").strip()
    return "" if text.startswith(("#", "//", "REM ")) else text


def states_requirements(blocks: Iterable[Block]) -> bool:
    """Whether blocks say what a program has to do, rather than list links or nothing at all."""
    prose = links = 0
    for text in _texts(blocks):
        if text is None or len(text) > _LONG:
            return True
        if text.isascii() and "](" not in text and "http" not in text and "www" not in text:
            prose += _SEVERAL.search(text) is not None
            continue
        bare = _ADDRESS.sub("", _LINK.sub("", text))
        linked = bare != text
        words = len(_WORD.findall(bare)) + len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", bare)) // 2
        if linked and words < 25:
            links += 1
        elif words > 2:
            prose += 1
    return prose > 0 and prose * 3 >= links


def _texts(blocks: Iterable[Block]) -> Iterable[str | None]:
    """The texts of blocks; None for code, which shows what a program does."""
    for block in blocks:
        if block.kind == "code":
            yield None
        elif block.kind == "list":
            yield from _texts(inner for item in block.items for inner in item.blocks)
        else:
            yield block.text
