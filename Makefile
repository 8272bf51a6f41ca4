# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed
SOAK ?= /tmp/soak
UNIT := -m "not tf and not envs and not slow"
# From constraints-hashed.txt, what is named in the file before it.
PICK := awk 'NR == FNR {wanted[$$1]; next} /^[^ ]/ {on = $$1 in wanted} on'

.PHONY: bytecode demo test test-envs check docs bench bench-smoke soak soak-cut proto hashes clean

demo: $(INSTALLED)  ## train the penguin model and say where everything is
	$(BIN)/python examples/penguin/pipeline.py

# Tests start hundreds of programs, and a worker writes no bytecode: each would compile our sources.
bytecode: $(INSTALLED)
	@$(BIN)/python -m compileall -q src

test: bytecode  ## every test that this environment can run
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not envs"

test-envs: bytecode  ## with environments of their own (other TensorFlows, TFMA, ml-metadata), and the longest ones
	$(BIN)/python -m pytest -m envs

check: bytecode  ## format, lint, types, import layers, unit tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 $(UNIT)

docs: $(INSTALLED)  ## the pages as a site, in out/site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(INSTALLED)  ## every figure in the docs
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/pipeline.py
	$(BIN)/python benchmarks/cached_run.py
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/watching.py
	$(BIN)/python benchmarks/transform.py
	$(BIN)/python benchmarks/data.py
	$(BIN)/python benchmarks/decode.py
	$(BIN)/python benchmarks/tuner.py
	$(BIN)/python benchmarks/rewriting.py
	$(BIN)/python benchmarks/workers.py
	$(BIN)/python benchmarks/resume.py
	$(BIN)/python benchmarks/ui.py
	$(BIN)/python benchmarks/bucket.py

bench-smoke: bytecode  ## whether anything has become slower: a few ratios beside benchmarks/smoke.json, in minutes
	cd benchmarks && $(CURDIR)/$(BIN)/python smoke.py

soak: bytecode  ## 1,000 kills of whole pipelines, 500 sequences of edits; goes on where it stopped
	cd tests/soak && $(CURDIR)/$(BIN)/python -m kill_matrix --kills 1000 --seed 15 --folder $(SOAK)
	STOKER_SEQUENCES=500 $(BIN)/python -m pytest -n 2 tests/soak/test_from_nothing.py
	$(BIN)/python tests/soak/random_steps.py --trials 100 --seed 20
	STOKER_KILLS=10 $(BIN)/python -m pytest tests/launchers
	STOKER_KILLS=200 $(BIN)/python -m pytest -s tests/runner/test_bucket_kills.py
	STOKER_RANDOM_CASES=10 $(BIN)/python -m pytest tests/transform/test_engine_cases.py

soak-cut: bytecode  ## as many of these kills as five minutes allow
	cd tests/soak && $(CURDIR)/$(BIN)/python -m kill_matrix --seconds 300 --folder $(SOAK)-cut

proto: $(INSTALLED)  ## generate the protobuf messages again
	$(BIN)/python scripts/generate_protos.py

hashes: $(INSTALLED)  ## look up the digests of the packages in constraints.txt
	$(BIN)/python scripts/hash_constraints.py

clean:  ## remove what the demo wrote
	rm -rf out

# With HASHES=1, only files whose digests are known are installed: make HASHES=1 test
$(INSTALLED): pyproject.toml constraints.txt src/stoker/stand_ins/stoker_stand_ins.pth $(if $(HASHES),constraints-hashed.txt)
	@echo "Setting up .venv with $(PYTHON): about 2 GB from the package index, once"
	$(PYTHON) -m venv .venv
ifdef HASHES
	grep '^uv==' constraints.txt | $(PICK) - constraints-hashed.txt > .venv/uv.txt
	$(BIN)/python -m pip install --quiet --require-hashes --requirement .venv/uv.txt
	$(BIN)/uv pip compile --quiet --python $(BIN)/python --no-header --no-annotate \
	  --constraint constraints.txt --extra estimator --extra onnx --extra transform --extra ui --group dev \
	  --output-file .venv/names.txt pyproject.toml
	$(PICK) .venv/names.txt constraints-hashed.txt > .venv/requirements.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode \
	  --require-hashes --requirement .venv/requirements.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps \
	  --build-constraint constraints-hashed.txt --editable .
else
	$(BIN)/python -m pip install --quiet --constraint constraints.txt uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode \
	  --constraint constraints.txt --editable ".[estimator,onnx,transform,ui]" --group dev
endif
	@touch $@
