# Two commands do everything on a fresh machine: make demo, make test.
# They need Python 3.11 or newer, make and git; the rest they install into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SIZE ?= full

.DEFAULT_GOAL := help
.PHONY: help demo test test-slurm-release lint lock bench docs clean

help:
	@echo "make demo    set up and run the main job on built-in data"
	@echo "make test    set up and run all tests"
	@echo "make test-slurm-release   the loop on Debian's newest Slurm (slow)"
	@echo "make lint    style, types, layers, known weaknesses of libraries"
	@echo "make lock    write the tested versions into requirements/ (UPGRADE=1 for the newest)"
	@echo "make bench   speed and quality benchmarks"
	@echo "make docs    build the documentation into site/"

# a virtual environment with everything the tests need, in the versions of requirements/dev.txt;
# uv if it can be had, else pip
$(READY): pyproject.toml requirements/dev.txt tools/setup
	@tools/setup "$(PYTHON)" "$(VENV)"
	@touch $@

demo: $(READY)
	@$(BIN)/prophase demo demo $(if $(filter quick,$(SIZE)),--quick)

# kernels are compiled once, while style and types are checked, not by every test worker; sources
# that changed since the setup are compiled for the many commands that tests start
test: $(READY)
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python tools/compile_kernels.py & compiling=$$!; \
	$(MAKE) --no-print-directory lint && wait $$compiling || { kill $$compiling 2>/dev/null; exit 1; }
	@tools/system-packages
	@tools/airflow-env "$(BIN)/python" .venv-airflow || echo "No Airflow, so its tests are skipped." >&2
	@tools/engines-env "$(BIN)/python" .venv-engines || echo "No engines, so exports are not tried in them." >&2
	@tools/kubernetes-env "$(BIN)/python" || echo "No Kubernetes, so tests with a real API server are skipped." >&2
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations=40

# Debian's newest Slurm in a system of its own, beside the machine's
# an epilog runs in the other release's own system, which has no Prophase
test-slurm-release: $(READY)
	@tools/system-packages
	@root=$$(tools/slurm-release) && PROPHASE_SLURM_ROOT=$$root $(BIN)/python -m pytest -q \
		tests/integrations/slurm/test_collect.py tests/integrations/slurm/test_closed_loop.py \
		--deselect tests/integrations/slurm/test_closed_loop.py::test_the_epilog_cures_a_job_that_nobody_resized

# the audit mostly waits for an answer
lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/audit.py & auditing=$$!; \
	{ $(BIN)/mypy && $(BIN)/lint-imports --no-logo; } || { kill $$auditing 2>/dev/null; exit 1; }; \
	wait $$auditing

lock: $(READY)
	@$(BIN)/python tools/lock.py $(if $(UPGRADE),--upgrade)

bench: $(READY)
	@$(BIN)/python benchmarks/run.py

docs: $(READY)
	@$(BIN)/python tools/build_docs.py

clean:
	rm -rf $(VENV) .venv-airflow .venv-engines .nox site demo .mypy_cache .ruff_cache .pytest_cache
