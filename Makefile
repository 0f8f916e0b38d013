# esweb. `make` prints the targets; `make demo` shows everything; `make check` is what CI runs.
.DEFAULT_GOAL := help
.PHONY: help setup demo run test test-slurm test-ray test-browser test-houses test-site test-rest check check-types bench soak fix lock config-reference words
PY := .venv/bin/python
export OMP_WAIT_POLICY := PASSIVE

help: ## Print these lines
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

setup: .venv/.installed-web-train ## Make .venv and install what running needs (pinned, with hashes)

demo: setup ## Show it all: servers, a tiny model, ES against GRPO, live at http://127.0.0.1:8000
	$(PY) manage.py demo

run: setup ## Start esweb with its own PostgreSQL and Valkey
	$(PY) manage.py up

# Two cores bear four at once: where a cluster, a browser or a whole esweb is waited for, what only computes goes on, and
# gives way again. The clusters are first, having most to wait for.
HOUSES := tests/chaos tests/esweb tests/flows
SITE := tests/runs tests/security
TESTS := test-slurm test-ray test-site test-rest check-types test-browser test-houses
BESIDE := --keep-going --jobs=4 --output-sync=line
test: .venv/.installed-dev ## Run every test, the browser's too
	$(MAKE) $(BESIDE) $(filter-out check-types,$(TESTS))

test-slurm: .venv/.installed-dev
	$(PY) -m pytest -m "not browser" tests/clusters $(addprefix --ignore=,$(wildcard tests/clusters/test_ray_*))

test-ray: .venv/.installed-dev
	$(PY) -m pytest -m "not browser" $(wildcard tests/clusters/test_ray_*)

test-browser: .venv/.installed-dev
	nice -n 5 $(PY) -m pytest -m browser tests/browser

test-houses: .venv/.installed-dev
	nice -n 5 $(PY) -m pytest -m "not browser" $(HOUSES)

test-site: .venv/.installed-dev
	nice $(PY) -m pytest -m "not browser" $(SITE)

test-rest: .venv/.installed-dev
	nice $(PY) -m pytest -m "not browser" $(addprefix --ignore=,$(SITE) $(HOUSES) tests/clusters tests/browser)

check: .venv/.installed-dev ## Everything that must hold: lint, format, types, contracts, migrations, tests
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	.venv/bin/djade --check --target-version 5.2 $$(git ls-files 'templates/*.html')
	$(MAKE) $(BESIDE) $(TESTS)

check-types: .venv/.installed-dev
	nice $(PY) -m mypy
	nice .venv/bin/lint-imports

bench: .venv/.installed-dev ## Measure, side by side with a named peer; prints ratios
	$(PY) -m benchmarks

soak: .venv/.installed-dev ## Kill everything, 200 times and amid 10 million points, and see that nothing is lost; call the API with anything at all, for 20 minutes; watch a live page for 5
	ESWEB_CHAOS_KILLS=$${ESWEB_CHAOS_KILLS:-200} ESWEB_CHAOS_SEED=$${ESWEB_CHAOS_SEED:-$$(date +%s)} $(PY) -m pytest -s tests/chaos
	ESWEB_SLURM_KILLS=$${ESWEB_SLURM_KILLS:-100} ESWEB_CHAOS_SEED=$${ESWEB_CHAOS_SEED:-$$(date +%s)} $(PY) -m pytest -s tests/clusters/test_slurm_whatever_is_killed.py
	ESWEB_RAY_KILLS=$${ESWEB_RAY_KILLS:-50} ESWEB_CHAOS_SEED=$${ESWEB_CHAOS_SEED:-$$(date +%s)} $(PY) -m pytest -s tests/clusters/test_ray_whatever_is_killed.py
	ESWEB_WRITTEN_POINTS=$${ESWEB_WRITTEN_POINTS:-10000000} $(PY) -m pytest -s tests/flows/test_writers_are_killed_around.py
	ESWEB_FUZZ_SECONDS=$${ESWEB_FUZZ_SECONDS:-1200} ESWEB_FUZZ_SEED=$${ESWEB_FUZZ_SEED:-$$(date +%s)} $(PY) -m pytest tests/security
	ESWEB_LIVE_SECONDS=$${ESWEB_LIVE_SECONDS:-300} ESWEB_LIVE_CUTS=$${ESWEB_LIVE_CUTS:-100} $(PY) -m pytest -s -m browser tests/browser/test_live_for_long.py

fix: .venv/.installed-dev ## Format and mend what can be mended
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	.venv/bin/djade --target-version 5.2 $$(git ls-files 'templates/*.html')

config-reference: .venv/.installed-dev ## Renew docs/config.md from the code
	$(PY) -m workers.config > docs/config.md

words: .venv/.installed-dev ## Renew what translators find of the words of workers
	$(PY) -m runs.words_of_workers > runs/words_of_workers/marked.py
	$(PY) -m judging.words_of_ratings > judging/words_of_ratings/marked.py

lock: .venv/.installed-dev ## Renew the locks from requirements/*.in
	requirements/lock.sh

.venv/.installed-web-train: requirements/web.lock requirements/train.lock requirements/scorer.lock requirements/torch.txt requirements/install.sh
	requirements/install.sh web train scorer
	@touch $@

.venv/.installed-dev: requirements/dev.lock requirements/torch.txt requirements/install.sh
	requirements/install.sh dev
	@touch $@ .venv/.installed-web-train
