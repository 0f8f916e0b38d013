# esweb. `make` prints the targets; `make demo` shows everything; `make check` is what CI runs.
.DEFAULT_GOAL := help
.PHONY: help setup torch demo run test test-tools check bench client soak fix lock config-reference words
PY := .venv/bin/python
export OMP_WAIT_POLICY := PASSIVE
# Tests start hundreds of processes; without bytecode on disk each would compile the project again.
export PYTHONDONTWRITEBYTECODE :=

help: ## Print this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

# make run PORT=8001 starts on another port.
PORT_OPTION = $(if $(PORT),--port $(PORT))

setup: .venv/.installed-web-train $(if $(TORCH),torch) $(if $(VLLM),.venv-vllm/.installed) ## Create .venv and install what running needs (pinned, with hashes); TORCH=cuda replaces a torch for CPUs; VLLM=1 adds vLLM

demo: setup ## Show everything: servers, a tiny model, ES against GRPO, live at http://127.0.0.1:8000; PORT=8001
	$(PY) manage.py demo $(PORT_OPTION)

run: setup ## Start esweb with its own PostgreSQL and Valkey; PORT=8001 chooses another port
	$(PY) manage.py up $(PORT_OPTION)

test: .venv/.installed-dev ## Run every test, the browser's too
	$(PY) -m pytest -n auto --durations=10

test-tools: .venv/.installed-dev ## Install Chromium, Slurm, OpenSSH and Ray, which some tests need (apt: as root)
	requirements/test-tools.sh

check: .venv/.installed-dev ## Run lint, format, types, contracts, migrations and tests
	$(PY) -m tests.check

bench: .venv/.installed-dev ## Measure every performance goal, next to a goal or peer, in one table; PART=chart measures one
	$(PY) -m benchmarks $(PART)

client: .venv/.installed-web-train ## Build the wheel of esweb-client, which reports runs from elsewhere, into client/dist
	rm -rf client/dist client/build
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir client/dist ./client
	@rm -rf client/build
	@ls -l client/dist/*.whl

soak: .venv/.installed-dev ## Test for longer with random seeds, at most 10 minutes a part; PART=chaos DURATION=1800 SEED=7 choose
	$(PY) -m tests.soak $(PART) $(if $(DURATION),--duration $(DURATION)) $(if $(SEED),--seed $(SEED))

fix: .venv/.installed-dev ## Format the code and fix what linters can fix
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	.venv/bin/djade --target-version 5.2 $$(git ls-files 'templates/*.html')

config-reference: .venv/.installed-dev ## Regenerate docs/config.md and docs/clusters.md from the code
	$(PY) -m workers.config > docs/config.md
	$(PY) manage.py cluster keys > docs/clusters.md

words: .venv/.installed-dev ## Regenerate the lists of translatable texts from workers and judging
	$(PY) -m runs.translation > runs/translation/marked.py
	$(PY) -m judging.translation > judging/translation/marked.py

lock: .venv/.installed-dev ## Regenerate the locks from requirements/*.in
	requirements/lock.sh

.venv/.installed-web-train: requirements/web.lock requirements/train.lock requirements/scorer.lock requirements/torch.txt requirements/install.sh
	requirements/install.sh web train scorer
	@touch $@

# The file above says that a torch is installed, not which build.
torch: .venv/.installed-web-train
	requirements/install.sh torch

.venv-vllm/.installed: requirements/vllm.lock requirements/install.sh | .venv/.installed-web-train
	requirements/install.sh vllm
	@touch $@

.venv/.installed-dev: requirements/dev.lock requirements/torch.txt requirements/install.sh
	requirements/install.sh dev
	@touch $@ .venv/.installed-web-train
