PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
ARMS   := codeteam codeteam-no-rag codeteam-no-alloc codeteam-no-git

.PHONY: help demo corpus ablation picture test lint bench kills clean

help:            ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

$(READY): pyproject.toml constraints.txt
	@echo "==> making the environment in $(VENV) (once; a minute or so)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "flowrun needs Python 3.11 or later; try: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "this Python cannot make environments; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: corpus     ## a README becomes a tested repository, with recorded model answers
	@echo "==> flowrun flows/codeteam.yaml on examples/cronwhen/README.md; the model's answers are recorded, all else is real"
	@$(BIN)/flowrun flows/codeteam.yaml --input requirements=examples/cronwhen/README.md \
	    --set rag.corpus=./.corpus/demo --model replay:examples/cronwhen/codeteam.jsonl

corpus: $(READY) ## a small corpus of design references in .corpus/demo, from packages that are installed here
	@echo "==> flowrun corpus build ./.corpus/demo @examples/corpus.txt"
	@$(BIN)/flowrun corpus build ./.corpus/demo @examples/corpus.txt --quiet

ablation: corpus ## the example in four arms, one mechanism less in each, and their figures side by side
	@echo "==> four flows, each from a recording of its own"
	@rm -rf runs/ablation
	@for arm in $(ARMS); do \
	    $(BIN)/flowrun flows/$$arm.yaml --input requirements=examples/cronwhen/README.md --set rag.corpus=./.corpus/demo \
	        --model replay:examples/cronwhen/$$arm.jsonl --runs runs/ablation/$$arm --quiet || exit 1; done
	@$(BIN)/flowrun runs diff $(foreach arm,$(ARMS),runs/ablation/$(arm)/*)

picture: corpus ## draw docs/demo.svg, the terminal at the end of a run
	@$(BIN)/python docs/picture.py docs/demo.svg

test: $(READY)   ## the whole test suite
	@echo "==> tests"
	@$(BIN)/python -m pytest

kills: $(READY)  ## 200 kills at random instants (make test does 40)
	@FLOWRUN_KILLS=200 $(BIN)/python -m pytest tests/faults/test_kills.py

lint: $(READY)   ## ruff and mypy (strict)
	@echo "==> ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "==> mypy"
	@$(BIN)/mypy

bench: $(READY)  ## measure speed and size, print and write docs/benchmarks.md (about ten minutes)
	@echo "==> benchmarks"
	@$(BIN)/python -m bench $(if $(TWINS),--twins $(TWINS)) $(if $(INDEX),--index)

clean:           ## remove the environment and caches; runs stay
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
