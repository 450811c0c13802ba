"""The pages of the book: one frame for all, addresses relative to each page, pages of cited sources."""

import html
import os
import pathlib
import posixpath
import re
import shutil
import string

from book import markdown, sources

TEMPLATES = pathlib.Path(__file__).parent / "templates"
ADDRESS = re.compile(r'(href|src|action)="book:([^"]*)"')
CITED = re.compile(r'"book:source/([^"#]*)\.html')
ASSET = re.compile(r'"book:asset/([^"#]*)"')


class Book:
    """Pages that wait to be written. A page is added with its address, from the book's folder, and its body,
    in which addresses of other pages begin with `book:`."""

    def __init__(self, root, title):
        self.root, self.title = root, title
        self.frame = string.Template((TEMPLATES / "page.html").read_text())
        self.bodies = {}
        self.found = []  # what the search finds: (title, kind, address, words)

    def add(self, address, title, body, kind="page"):
        if address in self.bodies:
            raise ValueError(f"two pages {address}")
        self.bodies[address] = (title, body, kind)

    def list(self, title, kind, address, words=""):
        """Lets the search find something."""
        self.found.append((title, kind, address, re.sub(r"\s+", " ", words).strip()))

    def write(self, folder):
        """Writes all pages, those of the sources that they cite, and the style. Returns how many pages."""
        self.add_sources()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("style.css", "print.css"):
            shutil.copy(TEMPLATES / name, folder / name)
        made = set()
        for address, (title, body, kind) in self.bodies.items():
            path = folder / address
            if path.parent not in made:
                path.parent.mkdir(parents=True, exist_ok=True)
                made.add(path.parent)
            path.write_text(self.framed(address, title, body, kind))
            for asset in ASSET.findall(body):
                (folder / "asset" / asset).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.root / asset, folder / "asset" / asset)
        return len(self.bodies)

    def add_sources(self):
        """A page for each source that a page cites; these cite none."""
        cited = {html.unescape(file) for _, body, _ in self.bodies.values() for file in CITED.findall(body)}
        for file in sorted(cited):
            lines = (self.root / file).read_text().splitlines()
            body = f"<h1><code>{file}</code></h1>{sources.numbered(lines, file, 1, anchored=True)}"
            self.add(f"source/{file}.html", file, body, kind="source")

    def framed(self, address, title, body, kind):
        up = posixpath.relpath(".", posixpath.dirname(address)) if os.path.dirname(address) else "."
        page = self.frame.substitute(title=html.escape(markdown.text_of(title)), book=html.escape(self.title),
                                     body=body, kind=kind)
        return ADDRESS.sub(lambda match: f'{match[1]}="{up}/{match[2]}"', page)


def badge(kind, text, title=""):
    """A badge; kinds are those of status.py."""
    more = f' title="{html.escape(title)}"' if title else ""
    return f'<span class="badge {kind}"{more}>{html.escape(text)}</span>'


def details(summary, body, opened=False):
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>{body}</details>"


def listed(entries):
    return "<ul>" + "".join(f"<li>{entry}</li>" for entry in entries) + "</ul>"


def table(head, rows, style=""):
    cells = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (f'<div class="scroll"><table class="{style}"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody>'
            "</table></div>")
