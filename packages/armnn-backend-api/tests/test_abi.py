# SPDX-License-Identifier: MIT
"""The C contract: header, mirror, golden layout, a C backend."""

from __future__ import annotations

import copy
import ctypes
import json
import os
import re
import struct
import subprocess
import tomllib
from pathlib import Path

import abi_header
import abi_model
import generate_abi
import pytest

from armnn_backend_api import (
    __main__,
    ctypes_mirror,
    get_cmake_dir,
    get_include,
    get_pkgconfig_dir,
    names,
)

DESCRIPTION = tomllib.loads((Path(__file__).parents[1] / "abi.toml").read_text(encoding="utf-8"))
MINOR = DESCRIPTION["api"]["minor"]
NEXT = MINOR + 1
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = {"c": ["gcc", "-std=c11"], "cpp": ["g++", "-std=c++17"]}
DLPACK = """
#define DLPACK_DLPACK_H_
#include <stdint.h>
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct { void *data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape;
                 int64_t *strides; uint64_t byte_offset; } DLTensor;
"""
ADDITION = Path(__file__).parent / "addition.c"


def build(folder: Path, source: str, *flags: str, kind: str = "c", include: str = "") -> Path:
    path, output = folder / f"source.{kind}", folder / "output"
    path.write_text(source, encoding="utf-8")
    place = f"-I{include or get_include()}"
    command = [*COMPILERS[kind], *STRICT, place, *flags, "-o", str(output), str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return output


def younger() -> abi_model.Abi:
    """Return the next minor: one function and one number more."""
    description = copy.deepcopy(DESCRIPTION)
    description["api"]["minor"] = NEXT
    rows = {row["name"]: row["fields"] for row in description["struct"]}
    sleep = {"name": "sleep", "returns": "void", "parameters": ["void *ctx"], "doc": ""}
    sleep["since"] = NEXT
    rows["armnn_host"].append(sleep)
    rows["armnn_device"].append({"name": "watts", "type": "double", "doc": "", "since": NEXT})
    return abi_model.read(description)


@pytest.mark.parametrize("kind", ["c", "cpp"])
@pytest.mark.parametrize("before", ["", DLPACK, "#include <armnn/backend.h>"])
def test_the_header_compiles_without_a_warning(tmp_path: Path, kind: str, before: str) -> None:
    build(tmp_path, f"{before}\n#include <armnn/backend.h>\n", "-c", kind=kind)


def test_the_header_documents_the_extensions_that_have_names() -> None:
    words = (Path(get_include()) / "armnn" / "backend.h").read_text().split()
    text = " ".join(word for word in words if word != "*")
    documented = re.findall(r"The extension (armnn\.[a-z.]+/\d+)", text)
    assert sorted(documented) == [
        names.ASYNC_EXECUTION,
        names.DEVICE_MEMORY,
        names.PLACED_DEVICE_MEMORY,
        names.HOST_BLOBS,
        names.HOST_PYTHON,
        names.MAPPED_PROGRAMS,
        names.SHARED_MEMORY,
        names.REPLANNED_PROGRAMS,
        names.STREAMS,
    ]


def test_the_compiler_the_mirror_and_the_golden_layout_agree(tmp_path: Path) -> None:
    golden = json.loads(
        (Path(ctypes_mirror.__file__).parent / "layouts" / f"1.{MINOR}.json").read_text()
    )
    expected, lines = {}, []
    for name, row in golden["layout"]["structs"].items():
        mirrored = getattr(
            ctypes_mirror, "".join(part.capitalize() for part in name.split("_")[1:])
        )
        assert ctypes.sizeof(mirrored) == row["size"]
        assert [field[0] for field in mirrored._fields_] == list(row["fields"])
        lines.append(f'printf("{name} %zu 0\\n", sizeof({name}));')
        expected[name] = (row["size"], 0)
        for field, place in row["fields"].items():
            found = getattr(mirrored, field)
            assert (found.offset, found.size) == (place["offset"], place["size"])
            size = f"sizeof((({name} *)0)->{field})"
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), {size});')
            expected[f"{name}.{field}"] = (place["offset"], place["size"])
    body = "\n".join(lines)
    source = f"#include <stdio.h>\n#include <armnn/backend.h>\nint main(void) {{{body}}}\n"
    printed = subprocess.run([build(tmp_path, source)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in printed.stdout.splitlines()]
    assert {name: (int(first), int(second)) for name, first, second in rows} == expected


@pytest.fixture
def addition(tmp_path: Path) -> Path:
    flags = ["-shared", "-fPIC", "-Wl,-z,defs", "-fvisibility=hidden"]
    return build(tmp_path, ADDITION.read_text(encoding="utf-8"), *flags)


def test_a_backend_exports_the_three_symbols_and_nothing_else(addition: Path) -> None:
    command = ["nm", "-D", "--defined-only", str(addition)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = sorted(line.split()[-1] for line in listed.splitlines())
    assert names == ["BackendFactory", "GetBackendId", "GetVersion"]


def test_a_backend_in_c_adds_through_the_mirror(addition: Path) -> None:
    library = ctypes.CDLL(str(addition))
    library.BackendFactory.restype = ctypes.POINTER(ctypes_mirror.BackendApi)
    table = library.BackendFactory().contents
    assert table.header.struct_id == ctypes_mirror.STRUCT_IDS[ctypes_mirror.BackendApi]
    host, error = filled(ctypes_mirror.Host), filled(ctypes_mirror.Error)
    backend, program, context = (ctypes.c_void_p() for _ in range(3))
    assert table.create(host, None, 0, ctypes.byref(backend), error) == ctypes_mirror.OK
    name = ctypes.create_string_buffer(b"Addition")
    nodes = (ctypes_mirror.Node * 2)(filled(ctypes_mirror.Node), filled(ctypes_mirror.Node))
    nodes[0].type = ctypes_mirror.String(ctypes.addressof(name), 8)
    nodes[1].type = ctypes_mirror.String(ctypes.addressof(name), 3)
    graph = filled(ctypes_mirror.Graph)
    graph.nodes, graph.num_nodes, graph.node_stride = nodes, 2, ctypes.sizeof(ctypes_mirror.Node)
    supports = (ctypes_mirror.Support * 2)()
    stride = ctypes.sizeof(ctypes_mirror.Support)
    assert table.query(backend, None, graph, supports, stride, error) == ctypes_mirror.OK
    assert [row.level for row in supports] == [1, 0]
    reason = supports[1].reason
    assert ctypes.string_at(reason.data, reason.size) == b"only Addition"
    graph.num_nodes = 1
    args = filled(ctypes_mirror.CompileArgs)
    assert table.compile(backend, None, graph, args, ctypes.byref(program), error) == 0
    assert table.context_create(program, ctypes.byref(context), error) == ctypes_mirror.OK
    assert summed(table, context, [1.5, -2.0, 3.0], [0.25, 2.0, 4.0]) == [1.75, 0.0, 7.0]
    table.context_destroy(context)
    table.program_destroy(program)
    table.destroy(backend)


def filled(kind):
    made = kind()
    made.header = ctypes_mirror.Header(ctypes.sizeof(kind), ctypes_mirror.STRUCT_IDS[kind], None)
    return made


def summed(table, context, first: list[float], second: list[float]) -> list[float]:
    shape = (ctypes.c_int64 * 1)(len(first))
    arrays = [(ctypes.c_float * len(first))(*values) for values in (first, second, [0.0] * 3)]
    tensors = [
        ctypes_mirror.Tensor(ctypes.addressof(array), 1, 0, 1, 2, 32, 1, shape, None, 0)
        for array in arrays
    ]
    pointers = [ctypes.pointer(tensor) for tensor in tensors]
    args = filled(ctypes_mirror.ExecuteArgs)
    kind = ctypes.POINTER(ctypes_mirror.Tensor)
    args.inputs, args.num_inputs = (kind * 2)(*pointers[:2]), 2
    args.outputs, args.num_outputs = (kind * 1)(pointers[2]), 1
    assert table.execute(context, args, filled(ctypes_mirror.Error)) == ctypes_mirror.OK
    return list(arrays[2])


def test_the_note_is_in_its_elf_section(addition: Path) -> None:
    data = addition.read_bytes()
    start = struct.unpack_from("<Q", data, 40)[0]
    width, count, names_index = struct.unpack_from("<3H", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, start + width * i) for i in range(count)]
    names = sections[names_index][4]
    notes = {
        data[names + name : data.index(b"\0", names + name)]: data[offset : offset + size]
        for name, kind, _, _, offset, size in sections
        if kind == 7
    }
    note = notes[b".note.armnn"]
    name_size, text_size, kind = struct.unpack_from("<3I", note)
    assert (note[12 : 12 + name_size], kind) == (b"ArmNN\0", 0x41524D4E)
    assert json.loads(note[20 : 20 + text_size].rstrip(b"\0")) == {"id": "AcmeAdd", "api": "1.0"}


@pytest.mark.parametrize(("target", "has"), [(0, 0), (MINOR, 0), (NEXT, 1)])
def test_a_reader_asks_whether_a_field_is_there(tmp_path: Path, target: int, has: int) -> None:
    folder = tmp_path / "include" / "armnn"
    folder.mkdir(parents=True)
    (folder / "backend.h").write_text(abi_header.header(younger()), encoding="utf-8")
    source = f"""#define ARMNN_BACKEND_TARGET_MINOR {target}
#include <armnn/backend.h>
int main(void) {{
  armnn_device device = {{.header = ARMNN_HEADER(ARMNN_DEVICE), .watts = 3.0}};
#ifdef armnn_host_has_sleep
  const int hidden = 0;
#else
  const int hidden = 1;
#endif
  return ARMNN_HAS(&device, armnn_device, watts) == {has} && hidden != {has}
    && ARMNN_HAS(&device, armnn_device, num_info) ? 0 : 1;
}}"""
    program = build(tmp_path, source, include=str(folder.parent))
    assert subprocess.run([program], check=False).returncode == 0


def released() -> dict[tuple[int, int], dict]:
    layout = abi_model.layout(abi_model.read(DESCRIPTION))
    return {(1, MINOR): {"released": True, "layout": layout}}


def test_the_golden_check_accepts_what_a_minor_appends() -> None:
    assert generate_abi.golden_problems(younger(), released()) == []


def reorder(fields: list[dict]) -> None:
    fields[0], fields[1] = fields[1], fields[0]


def retype(fields: list[dict]) -> None:
    fields[0]["type"] = "int64_t"


def remove(fields: list[dict]) -> None:
    fields.pop()


def append_without_a_minor(fields: list[dict]) -> None:
    fields.append({"name": "late", "type": "uint64_t", "doc": ""})


@pytest.mark.parametrize("change", [reorder, retype, remove, append_without_a_minor])
def test_the_golden_check_refuses_a_changed_row(change) -> None:
    description = copy.deepcopy(DESCRIPTION)
    change(next(s for s in description["struct"] if s["name"] == "armnn_execute_args")["fields"])
    problems = generate_abi.golden_problems(abi_model.read(description), released())
    assert problems
    assert all(
        f"Backend API 1.{MINOR} is released: armnn_execute_args" in text for text in problems
    )


def test_a_frozen_struct_never_grows() -> None:
    description = copy.deepcopy(DESCRIPTION)
    rows = next(s for s in description["struct"] if s["name"] == "armnn_option")["fields"]
    rows.append({"name": "late", "type": "uint64_t", "doc": "", "since": NEXT})
    problems = generate_abi.golden_problems(abi_model.read(description), released())
    assert "armnn_option.late is new in a frozen struct" in problems[0]


def test_a_struct_without_id_must_say_that_it_is_frozen() -> None:
    description = copy.deepcopy(DESCRIPTION)
    del description["struct"][0]["frozen"]
    with pytest.raises(ValueError, match="'armnn_header': got id '' and frozen False, expected"):
        abi_model.read(description)


def test_the_generated_files_are_current() -> None:
    for path, text in generate_abi.files(abi_model.read(DESCRIPTION)).items():
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("wanted", "code"), [("1.0", 0), (f"1.{MINOR}", 0), (f"1.{NEXT}", 1), ("2.0", 1)]
)
def test_cmake_finds_the_header(tmp_path: Path, wanted: str, code: int) -> None:
    (tmp_path / "add.c").write_text(ADDITION.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "CMakeLists.txt").write_text(
        f"""cmake_minimum_required(VERSION 3.16)
project(add C)
find_package(ArmnnBackendApi {wanted} CONFIG REQUIRED)
add_library(add MODULE add.c)
target_link_libraries(add PRIVATE ArmnnBackendApi::headers)
"""
    )
    place = f"-DCMAKE_PREFIX_PATH={get_cmake_dir()}"
    command = ["cmake", "-G", "Ninja", "-S", str(tmp_path), "-B", str(tmp_path / "out"), place]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == code, ran.stderr
    if code == 0:
        build_command = ["cmake", "--build", str(tmp_path / "out")]
        subprocess.run(build_command, capture_output=True, check=True)


def test_the_pkg_config_file_points_at_the_header() -> None:
    text = (Path(get_pkgconfig_dir()) / "armnn-backend-api.pc").read_text(encoding="utf-8")
    assert "includedir=${pcfiledir}/../include\n" in text
    assert f"Version: 1.{MINOR}\n" in text


def test_pkg_config_gives_the_flag_of_a_compiler(tmp_path: Path) -> None:
    command = ["pkg-config", "--cflags", "armnn-backend-api >= 1.0"]
    environment = {**os.environ, "PKG_CONFIG_PATH": get_pkgconfig_dir()}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    place = Path(ran.stdout.strip().removeprefix("-I"))
    assert place.resolve() == Path(get_include()).resolve()
    build(tmp_path, "#include <armnn/backend.h>\n", "-c", include=str(place))


# Without the 32-bit C library's headers, which a 64-bit machine need not have. i386 and Armv7 align
# uint64_t differently, so there is one recorded layout, that of 64-bit machines.
@pytest.mark.parametrize("kind", ["c", "cpp"])
def test_the_header_compiles_for_32_bits(tmp_path: Path, kind: str) -> None:
    source = """
#include <armnn/backend.h>
ARMNN_STATIC_ASSERT(sizeof(void *) == 4, "32 bits");
ARMNN_STATIC_ASSERT(sizeof(armnn_header) == 12, "armnn_header");
ARMNN_STATIC_ASSERT(ARMNN_BACKEND_API_SIZE <= sizeof(armnn_backend_api), "armnn_backend_api");
"""
    build(tmp_path, source, "-m32", "-ffreestanding", "-fsyntax-only", kind=kind)


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("--includes", f"-I{get_include()}"),
        ("--cmake-dir", get_cmake_dir()),
        ("--pkgconfig-dir", get_pkgconfig_dir()),
        ("--version", f"1.{MINOR}"),
    ],
)
def test_the_command_answers(capsys: pytest.CaptureFixture[str], option: str, answer: str) -> None:
    assert __main__.main([option]) == 0
    assert capsys.readouterr().out == f"{answer}\n"
