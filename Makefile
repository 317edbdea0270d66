# Two commands do everything: `make demo` and `make test`.
.PHONY: demo test test-python lint bench bench-browser bench-python build ui wire fuzz clean

CARGO ?= cargo
STEPSCOPE = target/release/stepscope
DEMO = fixtures/pytorch/2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz

## Build, then show where the time went in a real H200 training run: in the terminal, and as a report for the browser.
demo: build
	$(STEPSCOPE) $(DEMO)
	$(STEPSCOPE) export --to html -o target/demo.html $(DEMO)
	@printf '\nThe same for the browser, in one file: target/demo.html\nLive:\n\n  %s\n\n' '$(STEPSCOPE) view $(DEMO)'

## The browser UI, into the folder that the program embeds it from. Needs Node.js; gets it where it is missing.
ui: crates/serve/dist/index.html

UI_SOURCES = $(shell find ui/src ui/index.html ui/vite.config.ts ui/tsconfig.json ui/package.json ui/package-lock.json -type f)

crates/serve/dist/index.html: $(UI_SOURCES)
	PATH="$$(scripts/setup-ui.sh):$$PATH" && cd ui && npm run --silent build
	@touch $@ crates/serve/dist/.gitkeep

## The types of what the server sends, for the UI, from the Rust types.
wire:
	STEPSCOPE_WRITE_WIRE=1 $(CARGO) test --locked -p stepscope-serve wire

build: ui
	$(CARGO) build --release --locked --bin stepscope

## All tests. With STEPSCOPE_PEER_DATA and STEPSCOPE_LARGE_TRACE set, the checks against other tools' data run too.
test: ui
	$(CARGO) test --workspace --locked
	PATH="$$(scripts/setup-ui.sh --browser):$$PATH" && cd ui && npm test --silent && npx playwright test
	scripts/test-python.sh
	@if [ -n "$$STEPSCOPE_PEER_DATA" ]; then echo "checked against the data of torch-tb-profiler, TraceLens and HTA in $$STEPSCOPE_PEER_DATA"; \
	else echo "skipped: checks against torch-tb-profiler, TraceLens and HTA (STEPSCOPE_PEER_DATA is not set)"; fi
	@if [ -n "$$STEPSCOPE_LARGE_TRACE" ]; then echo "checked against the large trace $$STEPSCOPE_LARGE_TRACE"; \
	else echo "skipped: the large trace (STEPSCOPE_LARGE_TRACE is not set)"; fi

## The Python package alone: one wheel on every Python that is here, without PyTorch and with it.
test-python: ui
	scripts/test-python.sh

## Formatting, clippy, docs and types, warnings denied.
lint: ui
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --document-private-items
	PATH="$$(scripts/setup-ui.sh):$$PATH" && cd ui && npm run --silent lint
	scripts/lint-python.sh

## Side by side with the peers, in one run; then what each analysis costs beside loading. See BENCHMARKS.md. Pass options
## for the first with ARGS; STEPSCOPE_BENCH_TRACE names the trace of both.
bench: build
	python3 scripts/bench/run.py --stepscope $(STEPSCOPE) $(ARGS)
	$(CARGO) bench --locked -p stepscope-analyse --bench analyses -- $(abspath $(STEPSCOPE_BENCH_TRACE))

## In chromium: what the browser UI promises, and its rivals beside it. See BENCHMARKS.md. Options with ARGS.
bench-browser: build
	PATH="$$(scripts/setup-ui.sh --browser):$$PATH" && STEPSCOPE_BIN=$(abspath $(STEPSCOPE)) node ui/bench/run.mjs $(ARGS)

## What the Python package costs beside PyTorch's own and psutil. See BENCHMARKS.md. Options with ARGS.
bench-python: ui
	scripts/test-python.sh build
	target/python/frameworks/bin/python -m pip install --quiet psutil
	target/python/frameworks/bin/python scripts/bench/python_overhead.py $(ARGS)

## The reader against mutated files; needs a nightly toolchain and cargo-fuzz. Seconds: FUZZ_SECONDS.
## Without the address sanitizer: there is no unsafe code to watch, and it would cost nine tenths of the speed.
FUZZ_SECONDS ?= 900
fuzz:
	mkdir -p fuzz/corpus/read && cp -n fixtures/pytorch/mini/*.json fuzz/corpus/read/ || true
	$(CARGO) +nightly fuzz run --sanitizer none read -- -dict=fuzz/read.dict -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=2048

clean:
	$(CARGO) clean
