"""Installation notes outside installation sections: what only prepares the reader's machine goes, usage stays."""

from __future__ import annotations

import pytest

from nodes.preprocessing.document import normalize


def document(body: str) -> str:
    return f"# Tool\n\nIt counts words.\n\n## Running\n\n{body}\n\nThe tool prints a number.\n"


@pytest.mark.parametrize(
    "block",
    [
        "```\npip install -r requirements.txt\n```",
        "```bash\n$ sudo apt-get install libfoo bar\n$ sudo usermod -a -G dialout $USER\n```",
        "```sh\ngit clone https://example.org/x && cd x\npython3 -m venv venv\nsource venv/bin/activate\n```",
        "```\nconda create -n x python=3.11\nconda activate x\n```",
        "Install Python3 if not installed already.\nYou may need to install libsnl on Linux.",
        "First, install the required dependencies.",
        "This project has been set up using PyScaffold 4.5. For details see https://pyscaffold.org/.",
    ],
)
def test_what_prepares_the_readers_machine_goes_and_is_listed(block: str) -> None:
    found = normalize(document(block))
    assert found["text"].endswith("## Running {#running}\n\nThe tool prints a number.\n")
    assert [one["reason"] for one in found["dropped"]] in (["installation commands"], ["installation"], ["credit"])
    assert found["dropped"][0]["lines"] == [7, 7 + block.count("\n")]


@pytest.mark.parametrize(
    "block",
    [
        "```\npip install requests\nstreamlit run web.py\n```",
        "```\npip install tool[web]\n```",
        "```\ncd data\n```",
        "```\ndocker run -p 80:80 x\n```",
        "```\nexport TOOL_KEY=x\n```",
        "```\ncurl http://localhost/items\n```",
        "```python\npip install x\n```",
        "Install the plugin with the name that is given.",
        "The tool must install Python packages.",
        "Install Python. The server stores what it is sent.",
        "This project is made from data of a template engine.",
    ],
)
def test_what_says_how_the_program_is_used_stays(block: str) -> None:
    found = normalize(document(block))
    assert block in found["text"]
    assert found["dropped"] == []


def test_the_words_before_dropped_commands_go_with_them() -> None:
    found = normalize(document("run:\n\n```\npip install -r requirements.txt\n```\n\nThen run:\n\n```\ntool x\n```"))
    assert "Then run:\n\n```\ntool x" in found["text"]
    assert "\nrun:" not in found["text"]
    assert [one["reason"] for one in found["dropped"]] == ["introduces what was dropped", "installation commands"]
    stays = normalize(document("The tool must read these:\n\n```\npip install -r requirements.txt\n```"))
    assert "The tool must read these:" in stays["text"]


def test_making_an_executable_is_no_part_of_the_program() -> None:
    code = "```\npip install pyinstaller\npyinstaller --onefile x.py\n```"
    text = f"## Creating the executable\n\n### Linux\n\nrun:\n\n{code}"
    found = normalize(f"# Tool\n\nIt counts words.\n\n{text}\n\n## Usage\n\n`tool x`\n")
    assert [one["heading"] for one in found["sections"]] == ["Tool", "Usage"]
    assert {one["reason"] for one in found["dropped"]} == {"installation"}
