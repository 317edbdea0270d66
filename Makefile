# Two commands do everything: `make demo` and `make test`. While you work: `make test-fast`.
.PHONY: demo test test-busy test-fast test-nightly test-python lint lint-text docs bench bench-browser bench-gate bench-hooks bench-memory bench-monitor bench-production bench-python bench-samplers bench-xprof build ui wire fuzz fuzz-snapshots fuzz-xplane clean

CARGO ?= cargo
PROFILE ?= release
STEPSCOPE = target/$(PROFILE:dev=debug)/stepscope
DEMO = fixtures/pytorch/2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz
# What a profile is built with: the quick one leaves out Arrow and Parquet files and OpenTelemetry, that of the tests has all that
# they have.
BUILD_release = -p stepscope-cli
BUILD_quick = -p stepscope-cli --no-default-features
BUILD_dev = --workspace

## Build in a few minutes, then show where the time went in a real H200 training run: in the terminal, and as a report for
## the browser. `PROFILE=release` takes the build that is shipped: a quarter of an hour, and faster on large files.
demo: PROFILE = quick
demo: build
	$(STEPSCOPE) $(DEMO)
	$(STEPSCOPE) export --to html -o target/demo.html $(DEMO)
	@printf '\nThe same for the browser, in one file: target/demo.html\nOr live:\n\n  %s\n\n' '$(STEPSCOPE) view $(DEMO)'

## The browser UI, in the folder the program embeds it from. Needs Node.js; downloads it if it is missing.
ui: crates/serve/dist/index.html

UI_SOURCES = $(shell find ui/src ui/index.html ui/vite.config.ts ui/tsconfig.json ui/package.json ui/package-lock.json -type f)

crates/serve/dist/index.html: $(UI_SOURCES)
	PATH="$$(scripts/setup-ui.sh):$$PATH" && cd ui && npm run --silent build
	@touch $@

## The types of what the server sends, for the UI, from the Rust types.
wire:
	STEPSCOPE_WRITE_WIRE=1 $(CARGO) test --locked --workspace --lib wire

build: ui
	$(CARGO) build --profile $(PROFILE) --locked $(BUILD_$(PROFILE)) --bin stepscope

## All tests, with a table of stages and slow tests at the end. With STEPSCOPE_PEER_DATA and STEPSCOPE_LARGE_TRACE set,
## also the checks against other tools' data.
test: ui
	@python3 scripts/tests/run.py all

## Rust, UI logic and Python, without a browser and without PyTorch: for while you work.
test-fast: ui
	@python3 scripts/tests/run.py fast

## The Python package alone: one wheel on every installed Python, without PyTorch and with it.
test-python: ui
	@python3 scripts/tests/run.py python

## Before a release: linters, the documentation of the code, and all tests, with what is too slow for every change.
test-nightly: lint docs
	@python3 scripts/tests/run.py nightly

## Tests that watch processes and clocks, TIMES times beside a busy loop on every core, with no second try.
TIMES ?= 20
test-busy: ui
	@python3 scripts/tests/run.py clocks --busy --times $(TIMES)

## Formatting, linters and types of Rust, TypeScript and Python; warnings are errors. The quick build must compile too.
lint: lint-text
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --workspace --no-default-features --locked -- -D warnings

## The part of it that compiles nothing.
lint-text: ui
	$(CARGO) fmt --all --check
	PATH="$$(scripts/setup-ui.sh):$$PATH" && cd ui && npm run --silent lint
	scripts/lint-python.sh

## The documentation of the code; a link that leads nowhere is an error.
docs: ui
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --document-private-items

## Side by side with other tools, in one run; then what each analysis costs compared with loading. See BENCHMARKS.md.
## ARGS passes options to the first; STEPSCOPE_BENCH_TRACE names the trace for both.
bench: build
	python3 scripts/bench/run.py --stepscope $(STEPSCOPE) $(ARGS)
	$(CARGO) bench --locked -p stepscope-analyse --bench analyses -- $(abspath $(STEPSCOPE_BENCH_TRACE))

## In Chromium: what the browser UI promises, next to its rivals. See BENCHMARKS.md. Pass options with ARGS.
bench-browser: build
	PATH="$$(scripts/setup-ui.sh --browser):$$PATH" && STEPSCOPE_BIN=$(abspath $(STEPSCOPE)) node ui/bench/run.mjs $(ARGS)

## What the Python package costs, next to PyTorch's own profiler and psutil. See BENCHMARKS.md. Pass options with ARGS.
bench-python: ui
	python="$$(scripts/release-wheel.sh frameworks python/tests/requirements-frameworks.txt)" && \
	scripts/python-install.sh "$$python" psutil && "$$python" scripts/bench/python_overhead.py $(ARGS)

## What exact profiling costs, next to cProfile, line_profiler, VizTracer and py-spy. See BENCHMARKS.md. Options in ARGS.
bench-hooks:
	scripts/bench/python_hooks.sh $(ARGS)

## What sampling a process from outside costs, next to py-spy and Austin. See BENCHMARKS.md. Pass options with ARGS.
bench-samplers: build
	test -x target/peers/bin/py-spy || python3 -m venv target/peers
	target/peers/bin/python -m pip install --quiet py-spy austin-dist numpy
	target/peers/bin/python scripts/bench/samplers.py --stepscope $(STEPSCOPE) --py-spy target/peers/bin/py-spy --austin target/peers/bin/austin $(ARGS)

## Memory snapshots of PyTorch: seconds to the table of the peak and peak memory, next to pickle.load alone. Options in ARGS.
bench-memory: build
	python3 scripts/bench/memory_snapshots.py --stepscope $(STEPSCOPE) $(ARGS)

## Profiles of JAX next to XProf, and synthetic ones of up to a gigabyte: seconds and peak memory. Options in ARGS.
bench-xprof: build
	$(CARGO) build --release --locked -p stepscope-testkit --bin synth-xplane
	python3 scripts/bench/xprof.py --stepscope $(STEPSCOPE) --synth-xplane target/release/synth-xplane --jax-python "$$(scripts/python-environment.sh jax python/tests/requirements-jax.txt)/bin/python" --xprof-python "$$(scripts/python-environment.sh xprof python/tests/requirements-xprof.txt)/bin/python" $(ARGS)

## What counting requests of a service costs, next to Prometheus's client and OpenTelemetry's spans. Options in ARGS.
bench-production:
	scripts/bench/production.sh $(ARGS)

## What `stepscope monitor` costs: its own processor time at 1 Hz and 10 Hz, and with stacks at 19 Hz. Options in ARGS.
bench-monitor: build
	python3 scripts/bench/monitor.py --stepscope $(STEPSCOPE) --limit 0.1 $(ARGS)

## How often the performance gate is wrong, with real runs on this machine: writes docs/gate-numbers.md. Takes minutes.
bench-gate:
	$(CARGO) run --locked -p stepscope-regression --example gate_numbers -- docs

## The reader against mutated files, for FUZZ_SECONDS; needs a nightly toolchain and cargo-fuzz.
## Without the address sanitizer: there is no unsafe code to watch, and it would take 90% of the speed.
FUZZ_SECONDS ?= 900
fuzz:
	mkdir -p fuzz/corpus/read && cp -n fixtures/pytorch/mini/*.json fuzz/corpus/read/ || true
	$(CARGO) +nightly fuzz run --sanitizer none read -- -dict=fuzz/read.dict -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=2048

## The same for memory snapshots: pickles, and what is worked out from them.
fuzz-snapshots:
	mkdir -p fuzz/corpus/snapshot && cp -n fixtures/memory/schemas/*.pickle fuzz/corpus/snapshot/ || true
	$(CARGO) +nightly fuzz run --sanitizer none snapshot -- -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=2048

## The same for profiles of JAX and TensorFlow. STEPSCOPE_XPLANE_DATA names a folder of profiles to begin with.
fuzz-xplane:
	mkdir -p fuzz/corpus/xplane
	@if [ -n "$$STEPSCOPE_XPLANE_DATA" ]; then find "$$STEPSCOPE_XPLANE_DATA" -name '*.xplane.pb' -size -128k -exec cp -n {} fuzz/corpus/xplane/ \; ; fi
	$(CARGO) +nightly fuzz run --sanitizer none xplane -- -max_total_time=$(FUZZ_SECONDS) -max_len=131072 -timeout=10 -rss_limit_mb=2048

clean:
	$(CARGO) clean
