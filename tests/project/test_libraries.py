"""Parts of libraries: what is imported of them, and that nobody else notices."""

import subprocess
import sys

import pytest

from ioplateau import libraries

SERVERS = """
from wsgiref.simple_server import WSGIServer
class Server(WSGIServer): pass
"""
CALLED = """
from wsgiref.simple_server import software_version
SOFTWARE = software_version.split("/")
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A package `shelf` in which `shelf.book` is what one writes."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wsgiref.simple_server", raising=False)
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf/__init__.py").write_text("import shelf.book as whole")

    def write(text):
        (tmp_path / "shelf/book.py").write_text(text)

    yield write
    for name in [name for name in sys.modules if name.startswith("shelf")]:
        del sys.modules[name]


def load():
    from shelf import book

    return book


def test_a_part_is_imported_without_the_package_and_what_it_is_to_do_without(library):
    library(SERVERS)
    book = libraries.part("shelf", load, without=("wsgiref.simple_server",))

    assert book.Server.__base__.__module__ != "wsgiref.simple_server"
    assert not {"shelf", "shelf.book", "wsgiref.simple_server"} & set(sys.modules)


def test_whoever_imports_it_later_gets_all_of_it(library):
    library(SERVERS)
    libraries.part("shelf", load, without=("wsgiref.simple_server",))
    import shelf

    assert shelf.whole.Server.__base__.__module__ == "wsgiref.simple_server"


def test_a_version_that_needs_what_it_is_to_do_without_is_imported_whole(library):
    library(CALLED)
    book = libraries.part("shelf", load, without=("wsgiref.simple_server",))

    assert len(book.SOFTWARE) > 1
    assert sys.modules["shelf.book"] is book


def test_what_somebody_has_imported_is_not_imported_again(library):
    library(SERVERS)
    import shelf

    assert libraries.part("shelf", load, without=()) is shelf.book


def test_the_exposition_leaves_the_client_library_to_others():
    code = (
        "import ioplateau.tell.prometheus, prometheus_client, http.server;"
        "print(issubclass(prometheus_client.MetricsHandler, http.server.BaseHTTPRequestHandler))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)

    assert done.stdout == "True\n"
