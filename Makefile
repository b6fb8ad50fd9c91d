SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-models setup-dev demo test test-fast bench chaos lint docs pages clean

# A sourced ROS distribution gets its interfaces from the colcon workspace; without one they are in .venv.
ENTER := $(if $(ROS_DISTRO),source ros2_ws/install/local_setup.bash && )source .venv/bin/activate && \
  export AMENT_PREFIX_PATH="$$VIRTUAL_ENV:$$AMENT_PREFIX_PATH" &&

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## */  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

setup:  ## make .venv ready (the verbs below do it themselves)
	@scripts/setup

setup-models:  ## the same, with what models on this machine need
	@scripts/setup models

setup-dev:  ## the same, with what tests, checks and documentation need
	@scripts/setup dev

demo:  ## answer questions in the built-in house; ARGS="--help" shows how
	@scripts/setup demo
	@$(ENTER) eqa demo $(ARGS)

# Each worker takes whole files, long ones first; every test that starts ROS reserves a domain of its own.
WORKERS ?= auto
FAST_WORKERS ?= $(shell nproc)
test: setup-models setup-dev  ## run the tests on all cores; ARGS="tests/unit -k mapping" chooses, WORKERS=0 uses one process
	@$(ENTER) pytest -rs -n $(WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder $(ARGS)

test-fast: setup-dev  ## run the unit tests but for the long ones: no process, no ROS, no browser, no torch
	@$(ENTER) pytest -rs -n $(FAST_WORKERS) --maxprocesses 8 --dist loadfile --no-loadscope-reorder --fast tests/unit $(ARGS)

bench: setup  ## measure speed and memory
	@$(ENTER) python -m benchmarks $(ARGS)

chaos: setup  ## break the graph in every way and check what must hold; ARGS="--episodes 10" shortens it
	@$(ENTER) python -m benchmarks.chaos $(ARGS)

lint: setup-dev  ## check style and types
	@$(ENTER) ruff check . && mypy

docs: setup-dev  ## build the documentation into build/site; a warning is an error
	@$(ENTER) sphinx-build --quiet --fail-on-warning --keep-going --doctree-dir build/doctrees docs build/site
	@echo "written: build/site/index.html"

pages: setup-dev  ## run the README's example, the tutorials and the notebooks, and write what they print into them
	@$(ENTER) pytest -q --thorough --rewrite-pages tests/process/test_tutorials.py tests/process/test_notebooks.py

clean:  ## remove everything that was built
	rm -rf .venv build dist *.egg-info ros2_ws/build ros2_ws/install ros2_ws/log .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
